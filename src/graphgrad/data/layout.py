"""States, observation function and library of terms, from settings and columns."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import check_at_least, check_choice, check_finite, check_shape
from ..library import AbstractLibrary, Monomials, Polynomial, about, partly_linear
from ..library.degrees import default_states
from ..resources import count_monomials
from .constraints import with_velocities
from .drivers import Drivers
from .lags import Delay, count_terms, delayed_states, read_lags
from .series import Panel
from .stamps import is_clock


class Layout(NamedTuple):
    """Names, library of terms, and observation function.

    Attributes:
        states: Names of the states, of which the delayed ones are the last.
        inputs: Names of the inputs, of which the delayed ones are the last.
        library: Library of terms of the states and inputs, in this order.
        matrix: H, if observations are H x plus noise; None for a function.
        function: Observation function of the state; None for a matrix.
        delays: Delayed states and inputs, in their order.
    """

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    library: AbstractLibrary
    matrix: Float[np.ndarray, "Ny Nx"] | None
    function: Callable | None
    delays: tuple[Delay, ...] = ()

    @property
    def present(self) -> tuple[str, ...]:
        """Names of the states that are not delayed, which have equations."""
        delayed = {delay.name for delay in self.delays}
        return tuple(name for name in self.states if name not in delayed)

    @property
    def copies(self) -> tuple[list[int], list[int]]:
        """Indices of the delayed states, and of the states that they were."""
        pairs = [
            (self.states.index(delay.name), self.states.index(delay.source))
            for delay in self.delays
            if delay.name in self.states
        ]
        return [copy for copy, _ in pairs], [source for _, source in pairs]

    @property
    def constraints(self) -> tuple[Any, ...]:
        """What delayed variables are: others a step before."""
        from ..model.constraints import Delayed

        by_step = {(d.source, d.steps): d.name for d in self.delays}
        return tuple(
            Delayed(d.name, by_step.get((d.source, d.steps - 1), d.source))
            for d in self.delays
        )

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the variables that are not delayed, the nodes of the graph."""
        delayed = {delay.name for delay in self.delays}
        return tuple(name for name in self.variables if name not in delayed)

    @property
    def incidence(self) -> np.ndarray:
        """Nonzero where a term depends on a node, now or before: `(nodes, M)`."""
        sources = {delay.name: delay.source for delay in self.delays}
        owners = [self.nodes.index(sources.get(n, n)) for n in self.variables]
        merged = np.zeros((len(self.nodes), len(self.variables)))
        merged[owners, np.arange(len(owners))] = 1
        return merged @ np.abs(np.asarray(self.library.incidence))

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the library's variables."""
        return (*self.states, *self.inputs)

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms."""
        return self.library.names(self.variables)

    @property
    def observation(self) -> Any:
        """Argument `observation` of `state_space_model`."""
        if self.matrix is None:
            return self.function
        full = np.array_equal(self.matrix, np.eye(len(self.states)))
        return None if full else self.matrix


def lay_out(
    *,
    columns: Sequence[str] | None,
    n_columns: int,
    inputs: Sequence[str],
    states: Any,
    observation: Any,
    library: Any,
    degree: Any,
    constraints: Sequence[Any] = (),
    lags: Any = 0,
    drivers: Drivers | None = None,
    origin: Any = None,
) -> Layout:
    """Create the layout from settings and the columns of the data.

    Args:
        columns: Names of the columns of the data, if any.
        n_columns: Number of columns.
        inputs: Names of the inputs that are given.
        states: Names of the states, or None.
        observation: None, a list of observed states, H, or a function.
        library: Library of terms, or None for monomials.
        degree: Degree of the monomials.
        constraints: Constraints; the velocities among them are added to the states.
        lags: Steps of delayed states, as for `read_lags`.
        drivers: What drives the model; the inputs if None.
        origin: Origin of the terms by name of a variable; zero for others, if None,
            and for `"auto"`, by which it is chosen later.

    Examples:
        >>> laid = lay_out(columns=["v"], n_columns=1, inputs=(), states=["v", "w"],
        ...                observation=None, library=None, degree=2)
        >>> laid.matrix.tolist(), laid.terms
        ([[1.0, 0.0]], ('1', 'v', 'w', 'v^2', 'v w', 'w^2'))
    """
    names = _names(states, columns, n_columns, observation, library, len(inputs))
    names = tuple(with_velocities(names, constraints))
    if library is None:  # before anything of the size of its terms is allocated
        degree = check_at_least("degree", degree, 1, "Most systems are of degree 2.")
        count_monomials(len(names) + len(inputs), degree)
    matrix, function = None, None
    if callable(observation):
        function = observation
    else:
        matrix = _matrix(observation, names, columns, n_columns)
    drivers = Drivers(tuple(inputs)) if drivers is None else drivers
    seen = [n for i, n in enumerate(names) if matrix is None or matrix[:, i].any()]
    before = delayed_states(read_lags(lags, seen, (*names, *drivers.given)), names)
    delays = (*before, *drivers.delays)
    if matrix is not None:
        matrix = np.concatenate([matrix, np.zeros((n_columns, len(before)))], axis=1)
    names = (*names, *(delay.name for delay in before))
    variables = (*names, *drivers.names)
    if library is None:
        library = _monomials(variables, degree, delays, drivers)
    elif not isinstance(library, AbstractLibrary):
        raise ValueError(
            f"`library` must be a library of terms, got {type(library).__name__}. "
            "Give `graphgrad.Polynomial(n_states, degree)` or a sum of libraries."
        )
    if library.n_states != len(variables):
        raise ValueError(
            f"`library` must have {len(variables)} variables, the states and inputs "
            f"{list(variables)}, got {library.n_states}. Name hidden states in "
            "`states`."
        )
    _check_names("states", variables)
    if origin != "auto":
        library = about(library, _origin(origin, library, variables, delays))
    _check_names("states", library.names(variables))
    return Layout(names, drivers.names, library, matrix, function, delays)


def _monomials(
    variables: tuple[str, ...], degree: int, delays: Sequence[Delay], drivers: Drivers
) -> AbstractLibrary:
    """All monomials; of seasons, and of delayed variables if many, of degree 1."""
    named = {delay.name for delay in delays}
    kinds = (*drivers.undelayed[len(drivers.given) :],)
    n = len(variables)
    sizes = n - len(named) - len(kinds), len(named), len(kinds)
    linear = [name in kinds for name in variables]
    if count_terms(degree, *sizes) < comb(n - len(kinds) + degree, degree):
        linear = [name in kinds or name in named for name in variables]
    return partly_linear(n, degree, linear) if any(linear) else Polynomial(n, degree)


def has_origin(library: AbstractLibrary) -> bool:
    """Whether the terms are monomials, that can have another origin."""
    whole = isinstance(library, Polynomial) and library.root == 1
    return whole or isinstance(library, Monomials)


def _origin(
    origin: Any,
    library: AbstractLibrary,
    variables: tuple[str, ...],
    delays: Sequence[Delay],
) -> Float[np.ndarray, "Nv"]:
    """Origin of each variable; that of a delayed one is that of its source."""
    sources = {delay.name: delay.source for delay in delays}
    given = {} if origin is None else origin
    if not isinstance(given, Mapping):
        raise ValueError(
            f"`origin` must be 'auto', None or numbers by name, got {origin!r}. For "
            "instance {'temperature': 273.15}."
        )
    for name in given:
        check_choice("origin", name, [n for n in variables if n not in sources])
    if given and not has_origin(library):
        raise ValueError(
            f"`origin` must be left out for terms that are no monomials, got {origin!r}"
            ". Leave out the `library`, or write the origin into its terms."
        )
    found = [given.get(sources.get(name, name), 0.0) for name in variables]
    return check_finite("origin", found, "Give a number for each name.")


def state_names(settings: Mapping[str, Any], panel: Panel) -> tuple[str, ...]:
    """Names of the states by the settings of an estimator, and its data."""
    columns = panel.names
    given = settings["states"], columns, panel.n_columns, settings["observation"]
    return _names(*given, settings["library"], 0)


def _names(
    states: Any,
    columns: Sequence[str] | None,
    n_columns: int,
    observation: Any,
    library: Any,
    n_inputs: int,
) -> tuple[str, ...]:
    if states is not None:
        if isinstance(states, str) or not all(isinstance(s, str) for s in states):
            raise ValueError(
                f"`states` must be a list of names, got {states!r}. For instance "
                "['prey', 'predator']."
            )
        _check_names("states", states)
        return tuple(states)
    if observation is None:
        return tuple(columns) if columns is not None else default_states(n_columns)
    if isinstance(library, AbstractLibrary):
        return default_states(library.n_states - n_inputs)
    if not callable(observation) and np.ndim(observation) == 2:
        return default_states(np.shape(observation)[1])
    raise ValueError(
        "`states` must be given with this `observation`, got None. Name all states, "
        "including hidden ones."
    )


def _matrix(
    observation: Any,
    states: tuple[str, ...],
    columns: Sequence[str] | None,
    n_columns: int,
) -> np.ndarray:
    """H, with one row per column of the data."""
    if observation is None:
        if len(states) < n_columns:
            raise ValueError(
                f"`states` must name a state for each of the {n_columns} columns, got "
                f"{list(states)}. Give an `observation` if columns share a state."
            )
        observation = states[:n_columns] if columns is None else columns
        for name in observation:
            if name not in states:
                raise ValueError(
                    f"`y` must have columns named as states, {list(states)}, got "
                    f"{name!r}. Rename or drop it, or give an `observation`."
                )
    if all(isinstance(name, str) for name in observation):
        for name in observation:
            check_choice("observation", name, states)
        observation = np.eye(len(states))[[states.index(n) for n in observation]]
    remedy = (
        f"Give one row for each of the {n_columns} columns of the data and one column "
        f"for each of the {len(states)} states."
    )
    matrix = check_finite("observation", observation, remedy)
    check_shape("observation", matrix.shape, (n_columns, len(states)), remedy)
    return matrix


def _check_names(name: str, names: Sequence[str]) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ValueError(
            f"`{name}` must be names that differ, among themselves and from products "
            f"of one another, got {twice[0]!r} twice. Rename one of them."
        )
    for when in filter(is_clock, names):
        raise ValueError(
            f"`{name}` must not contain {when!r}, which names a column of times. "
            "Rename it."
        )
