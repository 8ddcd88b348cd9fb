"""The graph as a NetworkX graph, with terms and strengths as edge attributes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Array

from ..checks import check_finite, check_positive, check_shape
from ..compiling import compiled
from ..library import AbstractLibrary, variable_names
from ..model.mean import check_dynamics
from .adjacency import present

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    zero_threshold: float = 0.0,
    dynamics: str = "map",
    dt: float | None = None,
    trajectory: Any = None,
    inputs: Any = None,
    term_confidence: Any = None,
    edge_confidence: Any = None,
    delays: Mapping[str, tuple[str, int]] | None = None,
) -> "nx.DiGraph":
    """The graph with states (and inputs) as nodes and terms as edge attributes.

    An edge has the names of its `terms` and their `coefficients`. With a trajectory it
    has a `strength`: the variance of what its terms add to the target from row to row,
    divided by the variance of the target's steps. Contributions of edges can be
    correlated, so strengths need not add up to 1. With confidences it has a
    `confidence`. Delayed variables are no nodes: with `delays` an edge has the `delays`
    of its source in each of its terms, the longest if there are several.

    Args:
        coefficients: Coefficients of the dynamics, of shape `(Nx, M)`.
        library: The terms.
        states: Names of the states, followed by those of the inputs; x1, x2, ... and
            u1, ... by default.
        zero_threshold: Coefficients below this size count as zero.
        dynamics: What the sum of the terms is: `"flow"`, `"map"` or `"difference"`.
        dt: For the strengths of a flow, the time between rows.
        trajectory: States `(T, Nx)` over which strengths are computed, such as smoothed
            means.
        inputs: Inputs `(T - 1, Nu)`; row t acts from row t of the trajectory to t + 1.
        term_confidence: Confidence that each term is present, `(Nx, M)`, from 0 to 1.
            The confidence of an edge is the largest among its terms.
        edge_confidence: Confidence of each edge, `(Nx, Nx + Nu)`; overrides
            `term_confidence`.
        delays: For each delayed variable, that without delay and the number of steps.
            Delayed states come right after the others, and a trajectory includes them.

    Examples:
        >>> import graphgrad as gg
        >>> library = gg.Polynomial(n_states=2, degree=2)
        >>> graph = to_networkx([[0, 0.9, 0, 0, 0.1, 0], [1, 0, 0.5, 0, 0, 0]], library)
        >>> graph.edges["x2", "x1"]
        {'terms': ('x1 x2',), 'coefficients': (0.1,)}
    """
    import networkx as nx

    kept, enters = present(coefficients, library.incidence, zero_threshold)
    matrix = np.where(kept, np.asarray(coefficients, dtype=float), 0.0)
    n_states, n_variables = len(matrix), library.n_states
    check_dynamics(dynamics)
    variables = variable_names(n_variables, n_states, states)
    names = library.names(variables)
    delays = {} if not delays else dict(delays)
    nodes = [name for name in variables if name not in delays]
    merged = np.zeros((len(nodes), n_variables), int)
    late = np.zeros(n_variables, int)
    for j, name in enumerate(variables):
        source, late[j] = delays.get(name, (name, 0))
        merged[nodes.index(source), j] = 1
    entered = enters
    enters = merged @ entered > 0
    strength = sure = None
    if trajectory is not None:
        length = 1.0
        if dynamics == "flow":
            remedy = "It is the time between rows of the trajectory."
            length = check_positive("dt", dt, remedy)
        strength = _strengths(
            length * matrix, library, enters, dynamics, trajectory, inputs
        )
    if edge_confidence is not None:
        shape = (n_states, len(nodes))
        sure = _confidence("edge_confidence", edge_confidence, shape)
    elif term_confidence is not None:
        terms = _confidence("term_confidence", term_confidence, matrix.shape)
        carried = kept[:, None] & enters
        sure = np.max(np.where(carried, terms[:, None], 0.0), axis=-1)
    graph = nx.DiGraph()
    for i, name in enumerate(nodes):
        graph.add_node(name, kind="state" if i < n_states else "input")
    for a, b in np.ndindex(n_states, len(nodes)):
        columns = np.flatnonzero(kept[a] & enters[b])
        if not len(columns):
            continue
        edge: dict[str, Any] = {
            "terms": tuple(names[j] for j in columns),
            "coefficients": tuple(matrix[a, columns].tolist()),
        }
        if delays:
            steps = (late * merged[b])[:, None] * entered[:, columns]
            edge["delays"] = tuple(steps.max(axis=0).tolist())
        if strength is not None:
            edge["strength"] = float(strength[a, b])
        if sure is not None:
            edge["confidence"] = float(sure[a, b])
        graph.add_edge(nodes[b], nodes[a], **edge)
    return graph


def _strengths(
    matrix: np.ndarray,
    library: AbstractLibrary,
    enters: np.ndarray,
    dynamics: str,
    trajectory: Any,
    inputs: Any,
) -> np.ndarray:
    """Variance of each node's contribution to each state's steps, relative."""
    remedy = "Give states without gaps, such as smoothed means."
    n_states = len(matrix)
    x = check_finite("trajectory", trajectory, remedy)
    if x.ndim != 2 or len(x) < 3:
        raise ValueError(
            f"`trajectory` must have at least 3 rows of states, got shape {x.shape}. "
            f"{remedy}"
        )
    delayed = library.n_states - len(enters)
    wide = n_states if x.shape[1] == n_states else min(x.shape[1], n_states + delayed)
    check_shape("trajectory", x.shape, (len(x), wide), remedy)
    n_inputs = library.n_states - wide
    before, after, steps = x[:-1], x[1:], np.diff(x[:, :n_states], axis=0)
    if n_inputs:
        remedy = "Give a row of inputs for each step of the trajectory."
        u = check_finite("inputs", [] if inputs is None else inputs, remedy)
        check_shape("inputs", u.shape, (len(steps), n_inputs), remedy)
        before, after = (np.concatenate([part, u], axis=1) for part in (before, after))
    with jax.enable_x64(True):
        phi = np.asarray(_terms(library, before))
        if dynamics == "flow":
            # Over an interval a flow adds about the mean of its rates at both ends.
            phi = (phi + np.asarray(_terms(library, after))) / 2
    carried = matrix[:, None] * enters
    added = np.tensordot(phi, carried, axes=(1, 2))  # [t, a, b]
    if dynamics == "map":
        # A state that does not move adds nothing to its step.
        own = np.arange(n_states)
        added[:, own, own] -= before[:, own]
    whole = np.var(steps, axis=0)[:, None]
    parts = np.var(added, axis=0)
    return np.divide(parts, whole, out=np.zeros_like(parts), where=whole > 0)


@compiled
def _terms(library: AbstractLibrary, states: Any) -> Array:
    """The terms at each row."""
    return library(states)


def _confidence(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    remedy = "Give probabilities, from 0 to 1."
    array = check_finite(name, value, remedy)
    check_shape(name, array.shape, shape, remedy)
    if (array < 0).any() or (array > 1).any():
        worst = array.flat[np.argmax(np.abs(array - 0.5))]
        raise ValueError(f"`{name}` must be from 0 to 1, got {worst}. {remedy}")
    return array
