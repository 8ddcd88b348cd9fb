"""Phase portraits: one state against another, with the vector field of a flow."""

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import check_choice, check_numbers, check_shape
from ..library import variable_names
from .style import COLOURS, GREY, legend_above, matrix, one_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_phase(
    path: Any,
    *,
    data: Any = None,
    simulated: Any = None,
    rate: Callable[[np.ndarray], Any] | None = None,
    pair: tuple[str, str] | None = None,
    states: Sequence[str] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """One state against another: data, smoothed states, simulated ones, vector field.

    Args:
        path: Trajectory of smoothed states, `(T, Nx)`.
        data: Observations of the states, `(N, Nx)`; NaN is a gap.
        simulated: States simulated from the equations, `(S, Nx)`.
        rate: dx/dt of a flow, a function of states `(..., Nx)`. Its streamlines are
            drawn in grey in the plane of the two states, with the other states at the
            means of `path`.
        pair: Names of the two states; the first two by default.
        states: Names of the states.
        ax: Axes to draw on.

    Examples:
        >>> ax = plot_phase([[0, 1], [1, 0]], states=["prey", "fox"])
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('prey', 'fox')
        >>> ax = plot_phase([[0, 1], [1, 0]], rate=lambda x: x[..., ::-1] * [1, -1])
    """
    smooth = matrix("path", path)
    n_states = smooth.shape[1]
    names = variable_names(n_states, n_states, states)
    if pair is None:
        check_shape("path", (min(n_states, 2),), (2,), "A portrait needs two states.")
        pair = (names[0], names[1])
    a, b = (names.index(check_choice("pair", name, names)) for name in pair)
    ax = one_axes(ax, size=(5, 4.4))
    if data is not None:
        seen = matrix("data", data, n_states)
        ax.plot(seen[:, a], seen[:, b], ".", color=GREY, ms=4, label="data")
    if simulated is not None:
        drawn = matrix("simulated", simulated, n_states)
        ax.plot(
            drawn[:, a],
            drawn[:, b],
            color=COLOURS[1],
            lw=0.9,
            alpha=0.8,
            label="simulated",
        )
    ax.plot(smooth[:, a], smooth[:, b], color=COLOURS[0], lw=1.6, label="smoothed")
    if rate is not None:
        _draw_field(
            ax, vector_field(rate, smooth, (a, b), (ax.get_xlim(), ax.get_ylim()))
        )
    ax.set(xlabel=pair[0], ylabel=pair[1])
    tidy(ax)
    legend_above(ax)
    return ax


class VectorField(NamedTuple):
    """Vector field of a flow in the plane of two states.

    Attributes:
        x: Values of the first state.
        y: Values of the second state.
        rates: dx/dt of both at each y (row) and x (column); NaN where undefined.
    """

    x: Float[np.ndarray, "W"]
    y: Float[np.ndarray, "H"]
    rates: Float[np.ndarray, "H W 2"]


def vector_field(
    rate: Callable[[np.ndarray], Any],
    states: Float[np.ndarray, "T Nx"],
    pair: tuple[int, int],
    limits: tuple[tuple[float, float], tuple[float, float]],
    size: tuple[int, int] = (24, 24),
) -> VectorField:
    """Rates on a grid over the plane of two states, with the others at their means.

    Args:
        rate: dx/dt, a function of states `(..., Nx)`.
        states: States that give the means of the other states.
        pair: Indices of the two states.
        limits: Limits of both axes.
        size: Number of grid points per axis.

    Examples:
        >>> states, turn = np.array([[1.0, 2.0]]), lambda x: x[..., ::-1] * [1, -1]
        >>> field = vector_field(turn, states, (0, 1), ((-1, 1), (-1, 1)), size=(3, 2))
        >>> field.rates.shape, field.rates[1, 0].tolist()
        ((2, 3, 2), [1.0, 1.0])
    """
    x, y = (np.linspace(*ends, count) for ends, count in zip(limits, size, strict=True))
    remedy = "It gives dx/dt of states (..., Nx)."
    with warnings.catch_warnings():
        # Columns that are all NaN, and terms without a real value.
        warnings.simplefilter("ignore", RuntimeWarning)
        means = np.nan_to_num(np.nanmean(states, axis=0))
        places = np.broadcast_to(means, (len(y), len(x), states.shape[1])).copy()
        places[..., pair[0]], places[..., pair[1]] = np.meshgrid(x, y)
        rates = check_numbers("rate", rate(places), remedy)
    check_shape("rate", rates.shape, places.shape, remedy)
    rates = np.where(np.isfinite(rates), rates, np.nan)
    return VectorField(x, y, rates[..., list(pair)])


def _draw_field(ax: "Axes", field: VectorField) -> None:
    """Streamlines of the field; the axis limits stay unchanged."""
    limits = ax.get_xlim(), ax.get_ylim()
    u, v = np.moveaxis(field.rates, -1, 0)
    ax.streamplot(
        field.x,
        field.y,
        np.ma.masked_invalid(u),
        np.ma.masked_invalid(v),
        color="0.72",
        linewidth=0.6,
        arrowsize=0.7,
        density=0.9,
        zorder=0.5,
    )
    ax.set(xlim=limits[0], ylim=limits[1])
