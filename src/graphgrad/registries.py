"""Registries: the only lists of everything that is chosen by name.

The command line, error messages, saved files and contract tests read these tables. An
entry is a name and the location of its object, `"package.module:object"`, which is
imported on first use: `graphgrad --help` lists choices without importing JAX.
"""

import re
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any


class Registry(MutableMapping[str, Any]):
    """Objects by name, each imported on first use.

    Args:
        places: `"package.module:object"` below `graphgrad`, by name. Entries added
            later may also be the objects themselves.

    Examples:
        >>> numbers = Registry({"one": "registries:Registry"})
        >>> numbers["two"] = 2
        >>> list(numbers), numbers["one"] is Registry, numbers["two"]
        (['one', 'two'], True, 2)
    """

    def __init__(self, places: dict[str, str]):
        self._places: dict[str, Any] = dict(places)

    def __getitem__(self, name: str) -> Any:
        found = self._places[name]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = getattr(import_module(f"graphgrad.{module}"), attribute)
            self._places[name] = found
        return found

    def __setitem__(self, name: str, value: Any) -> None:
        self._places[name] = value

    def __delitem__(self, name: str) -> None:
        del self._places[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        # The method of `Mapping` would import the object. A file may hold anything in
        # place of a name, such as a list, which is not hashable.
        return name in tuple(self._places)


DYNAMICS = Registry(
    {
        "flow": "model.flow:FlowMean",
        "map": "model.map:MapMean",
        "difference": "model.map:DifferenceMean",
    }
)
"""Kinds of dynamics: dx/dt, x[t+1] or x[t+1] - x[t] is a sum of terms."""

ENGINES = Registry(
    {
        "gaussian": "engines.gaussian:GaussianSmoother",
        "particle": "engines.smoothing:ParticleSmoother",
        "ensemble": "engines.ensemble:EnsembleSmoother",
    }
)
"""Filters and smoothers of the states. Each can be built without arguments; the first
argument of one that samples is the number of particles or members."""

PROPOSALS = Registry(
    {
        "bootstrap": "engines.proposals:Bootstrap",
        "linearised": "engines.proposals:Linearised",
        "locally optimal": "engines.proposals:LocallyOptimal",
    }
)
"""Proposal distributions of particles."""

RESAMPLING = Registry(
    {
        "multinomial": "engines.resampling:multinomial",
        "systematic": "engines.resampling:systematic",
        "stratified": "engines.resampling:stratified",
        "residual": "engines.resampling:residual",
    }
)
"""Resampling schemes: how ancestors of particles are drawn."""

DIFFERENTIABLE = Registry(
    {
        "soft": "engines.differentiable:SoftResampling",
        "optimal transport": "engines.differentiable:TransportResampling",
    }
)
"""Resampling methods with their own derivative."""

PENALTIES = Registry(
    {
        "l1": "penalties.l1:L1",
        "l0": "penalties.l0:L0",
        "nuclear": "penalties.nuclear:Nuclear",
        "group": "penalties.group:GroupByEdge",
        "none": "penalties.unpenalised:Unpenalised",
    }
)
"""Sparsity penalties, for solvers that take one."""

SOLVERS = Registry(
    {
        "paper": "solvers.paper:b_graphgrad",
        "s-graphgrad": "solvers.paper:s_graphgrad",
        "b-graphgrad": "solvers.paper:b_graphgrad",
        "pmle": "solvers.paper:pmle",
    }
)
"""Solvers other than `"adaptive"`, the default; each takes key, ys, model and penalty,
and the keyword arguments start, settings and callback."""

CRITERIA = Registry(
    {
        "beta-binomial": "solvers.criterion:BetaBinomialBIC",
        "ebic": "solvers.criterion:ExtendedBIC",
        "ebic-by-degree": "solvers.criterion:ExtendedBICByDegree",
        "bic": "solvers.criterion:BIC",
        "aic": "solvers.criterion:AIC",
    }
)
"""Criteria of the adaptive solver: the penalty of each term. Each can be built without
arguments."""

SELECTIONS = Registry(
    {
        "ebic": "selection.choice:by_ebic",
        "held-out": "selection.choice:by_held_out",
    }
)
"""Ways to choose between fits that differ in their penalty."""

SYSTEMS = Registry(
    {
        "lorenz63": "systems.lorenz63:lorenz63",
        "lorenz96": "systems.lorenz96:lorenz96",
        "kuramoto": "systems.kuramoto:kuramoto",
        "lotka_volterra": "systems.lotka_volterra:lotka_volterra",
        "rabinovich_fabrikant": "systems.rabinovich_fabrikant:rabinovich_fabrikant",
        "sir": "systems.sir:sir",
        "seir": "systems.seir:seir",
        "brusselator": "systems.brusselator:brusselator",
        "oregonator": "systems.oregonator:oregonator",
        "fitzhugh_nagumo": "systems.fitzhugh_nagumo:fitzhugh_nagumo",
        "rossler": "systems.rossler:rossler",
        "damped_oscillator": "systems.damped_oscillator:damped_oscillator",
        "random_sparse": "systems.random_sparse:random_sparse",
    }
)
"""Benchmark systems with known equations: functions that return a `System`."""

MOTIONS = {
    "flow": "flow, dx/dt = A phi(x)",
    "map": "map, x[t+1] = C phi(x)",
    "difference": "difference, x[t+1] - x[t] = A phi(x)",
}
"""Name and equation of each kind of dynamics."""


def left_side(state: str, dynamics: str) -> str:
    """Left side of an equation, as text.

    Examples:
        >>> [left_side("fox", kind) for kind in ("flow", "map", "difference")]
        ['dfox/dt', 'fox[t+1]', 'fox[t+1] - fox[t]']
        >>> left_side("dye conc (mol/L)", "flow")
        'd(dye conc (mol/L))/dt'
    """
    moving = state if re.fullmatch(r"\w+", state) else f"({state})"
    return {
        "flow": f"d{moving}/dt",
        "map": f"{state}[t+1]",
        "difference": f"{state}[t+1] - {state}[t]",
    }[dynamics]


def default_dynamics(*, timed: bool, solver: str) -> str:
    """The flow if times or dt are given, else the map.

    Args:
        timed: Whether times or dt are given.
        solver: The paper's solvers only support maps.

    Examples:
        >>> default_dynamics(timed=True, solver="adaptive")
        'flow'
    """
    return "flow" if timed and solver not in SOLVERS else "map"
