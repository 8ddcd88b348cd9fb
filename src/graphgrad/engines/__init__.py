"""How the hidden path is inferred: filters, smoothers, gradients, information."""

from .choice import ENGINES as ENGINES
from .choice import choose_engine as choose_engine
from .differentiable import DIFFERENTIABLE as DIFFERENTIABLE
from .differentiable import AbstractResampling as AbstractResampling
from .differentiable import SoftResampling as SoftResampling
from .differentiable import TransportResampling as TransportResampling
from .ensemble import EnsembleSmoother as EnsembleSmoother
from .gaussian import GaussianSmoother as GaussianSmoother
from .gradient import value_and_gradient as value_and_gradient
from .information import information as information
from .particle import FilterResult as FilterResult
from .particle import ParticleFilter as ParticleFilter
from .proposals import PROPOSALS as PROPOSALS
from .proposals import AbstractProposal as AbstractProposal
from .proposals import AbstractProposalLaw as AbstractProposalLaw
from .proposals import Bootstrap as Bootstrap
from .proposals import Linearised as Linearised
from .proposals import LocallyOptimal as LocallyOptimal
from .resampling import RESAMPLING as RESAMPLING
from .smoothing import ParticleSmoother as ParticleSmoother
from .sweep import AbstractEngine as AbstractEngine
from .sweep import FilteredLaws as FilteredLaws
from .sweep import Sweep as Sweep
