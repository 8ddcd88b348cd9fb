"""graphgrad: sparse equations and interaction graphs from noisy time series."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from . import metrics as metrics
    from . import models as models
    from . import plots as plots
    from . import storage as storage
    from . import systems as systems
    from .confidence import posterior as posterior
    from .confidence import stability as stability
    from .engines import EnsembleSmoother as EnsembleSmoother
    from .engines import GaussianSmoother as GaussianSmoother
    from .engines import ParticleFilter as ParticleFilter
    from .engines import ParticleSmoother as ParticleSmoother
    from .engines import SoftResampling as SoftResampling
    from .engines import TransportResampling as TransportResampling
    from .engines import value_and_gradient as value_and_gradient
    from .equations import equations as equations
    from .equations import latex as latex
    from .equations import numpy_function as numpy_function
    from .equations import numpy_source as numpy_source
    from .equations import to_sympy as to_sympy
    from .estimator import GraphGrad as GraphGrad
    from .estimator import compare_fits as compare_fits
    from .graph import GraphComparison as GraphComparison
    from .graph import adjacency as adjacency
    from .graph import compare_graphs as compare_graphs
    from .graph import save_graphml as save_graphml
    from .graph import to_dot as to_dot
    from .graph import to_networkx as to_networkx
    from .library import FunctionTerms as FunctionTerms
    from .library import Polynomial as Polynomial
    from .library import UserTerms as UserTerms
    from .library import degree_matrix as degree_matrix
    from .library import exponential_terms as exponential_terms
    from .library import trigonometric_terms as trigonometric_terms
    from .model import Binomial as Binomial
    from .model import MultiplicativeNoise as MultiplicativeNoise
    from .model import NegativeBinomial as NegativeBinomial
    from .model import Poisson as Poisson
    from .model import StateSpaceModel as StateSpaceModel
    from .model import StudentT as StudentT
    from .model import UserDensity as UserDensity
    from .model import arrange as arrange
    from .model import bounds as bounds
    from .model import conserve as conserve
    from .model import cyclic as cyclic
    from .model import equal as equal
    from .model import exchangeable as exchangeable
    from .model import forbid as forbid
    from .model import known as known
    from .model import only_edges as only_edges
    from .model import sign as sign
    from .model import simulate as simulate
    from .model import state_space_model as state_space_model
    from .model import velocity as velocity
    from .penalties import L0 as L0
    from .penalties import L1 as L1
    from .penalties import GroupByEdge as GroupByEdge
    from .penalties import Nuclear as Nuclear
    from .penalties import Unpenalised as Unpenalised
    from .selection import choose_degree as choose_degree
    from .selection import choose_model as choose_model
    from .selection import choose_penalty as choose_penalty
    from .selection import choose_weight as choose_weight
    from .selection import fit_path as fit_path
    from .selection import tune_on_twin as tune_on_twin
    from .solution import Outcome as Outcome
    from .solution import PaperSolution as PaperSolution
    from .solution import Solution as Solution
    from .solvers import AdaptiveSteps as AdaptiveSteps
    from .solvers import FirstThenAll as FirstThenAll
    from .solvers import FixedNumber as FixedNumber
    from .solvers import GradientSteps as GradientSteps
    from .solvers import Telescoping as Telescoping
    from .solvers import adaptive as adaptive
    from .solvers import b_graphgrad as b_graphgrad
    from .solvers import multistart as multistart
    from .solvers import pmle as pmle
    from .solvers import s_graphgrad as s_graphgrad
    from .solvers import true_mle as true_mle

# Importing JAX and scikit-learn takes seconds, so names are imported on first access. A
# test compares this table with the imports above.
_NAMES = {
    "confidence": "posterior stability",
    "engines": (
        "EnsembleSmoother GaussianSmoother ParticleFilter ParticleSmoother "
        "SoftResampling TransportResampling value_and_gradient"
    ),
    "equations": "equations latex numpy_function numpy_source to_sympy",
    "estimator": "GraphGrad compare_fits",
    "graph": "GraphComparison adjacency compare_graphs save_graphml to_dot to_networkx",
    "library": (
        "FunctionTerms Polynomial UserTerms degree_matrix exponential_terms "
        "trigonometric_terms"
    ),
    "model": (
        "Binomial MultiplicativeNoise NegativeBinomial Poisson StateSpaceModel "
        "StudentT UserDensity arrange bounds conserve cyclic equal exchangeable forbid "
        "known only_edges sign simulate state_space_model velocity"
    ),
    "penalties": "L0 L1 GroupByEdge Nuclear Unpenalised",
    "selection": (
        "choose_degree choose_model choose_penalty choose_weight fit_path tune_on_twin"
    ),
    "solution": "Outcome PaperSolution Solution",
    "solvers": (
        "AdaptiveSteps FirstThenAll FixedNumber GradientSteps Telescoping adaptive "
        "b_graphgrad multistart pmle s_graphgrad true_mle"
    ),
}
_MODULES = ("metrics", "models", "plots", "storage", "systems")
_PACKAGES = (*_MODULES, *_NAMES)
_PACKAGE_OF = {
    name: package for package, names in _NAMES.items() for name in names.split()
}

__all__ = ["__version__", *_MODULES, *_PACKAGE_OF]  # pyright: ignore


class _Package(ModuleType):
    """This package: importing `graphgrad.equations` does not replace the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PACKAGE_OF and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)

    def __reduce__(self) -> Any:
        """Pickle as a name: cloudpickle knows plain modules only."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    if name in _PACKAGE_OF:
        value = getattr(import_module(f".{_PACKAGE_OF[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
