"""The state-space model: initial law, transition, observation. Eq. (1), (6), (7)."""

from .build import state_space_model as state_space_model
from .constraints import Knowledge as Knowledge
from .constraints import forbid as forbid
from .constraints import knowledge as knowledge
from .constraints import known as known
from .constraints import only_edges as only_edges
from .noise import AbstractNoise as AbstractNoise
from .noise import GaussianNoise as GaussianNoise
from .observation import AbstractObservation as AbstractObservation
from .observation import LinearGaussian as LinearGaussian
from .series import checked_series as checked_series
from .series import filled as filled
from .state_space import StateSpaceModel as StateSpaceModel
from .state_space import simulate as simulate
from .transition import AbstractMean as AbstractMean
from .transition import LibraryMean as LibraryMean
from .transition import Transition as Transition
