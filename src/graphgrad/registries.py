"""Every choice that is made by name: the only lists of them.

What command line, error messages, saved files and contract tests offer is read off
these tables. A line is a name and where its object is, `"room.module:object"`, which is
imported when somebody asks for it: `graphgrad --help` lists choices without JAX.
"""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any


class Registry(MutableMapping[str, Any]):
    """Objects by name, each imported when it is asked for.

    Args:
        places: `"room.module:object"` below `graphgrad` by name. What is added later
            may also be the object itself.

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
        # That of a mapping would import what it only looks for. A file may hold
        # anything in the place of a name, such as a list, which has no hash.
        return name in tuple(self._places)


DYNAMICS = Registry(
    {
        "flow": "model.flow:FlowMean",
        "map": "model.transition:MapMean",
        "difference": "model.transition:DifferenceMean",
    }
)
"""How a state may move: dx/dt, x[t+1] or x[t+1] - x[t] is a sum of terms."""

ENGINES = Registry(
    {
        "gaussian": "engines.gaussian:GaussianSmoother",
        "particle": "engines.smoothing:ParticleSmoother",
        "ensemble": "engines.ensemble:EnsembleSmoother",
    }
)
"""How the hidden trajectory is inferred. Each can be made without arguments; one that
draws takes the number of particles or members first."""

PROPOSALS = Registry(
    {
        "bootstrap": "engines.proposals:Bootstrap",
        "linearised": "engines.proposals:Linearised",
        "locally optimal": "engines.proposals:LocallyOptimal",
    }
)
"""Where particles are drawn from."""

RESAMPLING = Registry(
    {
        "multinomial": "engines.resampling:multinomial",
        "systematic": "engines.resampling:systematic",
        "stratified": "engines.resampling:stratified",
        "residual": "engines.resampling:residual",
    }
)
"""How ancestors of particles are drawn."""

DIFFERENTIABLE = Registry(
    {
        "soft": "engines.differentiable:SoftResampling",
        "optimal transport": "engines.differentiable:TransportResampling",
    }
)
"""Kinds of resampling with a derivative of their own."""

PENALTIES = Registry(
    {
        "l1": "penalties.l1:L1",
        "l0": "penalties.l0:L0",
        "nuclear": "penalties.nuclear:Nuclear",
        "group": "penalties.group:GroupByEdge",
        "none": "penalties.unpenalised:Unpenalised",
    }
)
"""What simple means, for solvers that take a penalty."""

SOLVERS = Registry(
    {
        "paper": "solvers.paper:b_graphgrad",
        "s-graphgrad": "solvers.paper:s_graphgrad",
        "b-graphgrad": "solvers.paper:b_graphgrad",
        "pmle": "solvers.paper:pmle",
    }
)
"""Solvers beside `"adaptive"`, which is the default; each takes key, ys, model and
penalty, and by name start, settings and callback."""

CRITERIA = Registry(
    {
        "ebic": "selection.choice:by_ebic",
        "held-out": "selection.choice:by_held_out",
    }
)
"""How whole fits are compared that differ in their penalty."""

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
"""Known truths: functions that return a `System`."""

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
    """
    return {
        "flow": f"d{state}/dt",
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
