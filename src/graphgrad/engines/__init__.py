"""How the hidden path is inferred: particle filters and their gradients."""

from .gradient import value_and_gradient as value_and_gradient
from .particle import FilterResult as FilterResult
from .particle import ParticleFilter as ParticleFilter
from .proposals import PROPOSALS as PROPOSALS
from .proposals import AbstractProposal as AbstractProposal
from .proposals import AbstractProposalLaw as AbstractProposalLaw
from .proposals import Bootstrap as Bootstrap
from .proposals import LocallyOptimal as LocallyOptimal
from .resampling import RESAMPLING as RESAMPLING
