"""Colours and axes shared by all plots."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import check_numbers, check_shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# M. Okabe and K. Ito, Color Universal Design (2008), without the yellow, which is too
# light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
GREY = "#8c8c8c"
# With more names than this the legend hides the plot.
MOST_NAMES = 9


def colour(number: int) -> str:
    """The colour of the state with that index."""
    return COLOURS[number % len(COLOURS)]


def one_axes(ax: "Axes | None", *, size: tuple[float, float]) -> "Axes":
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def several_axes(
    ax: Any, count: int, *, size: tuple[float, float], beside: bool = False
) -> "list[Axes]":
    """The given axes, if there are enough, or those of a new figure."""
    if ax is None:
        import matplotlib.pyplot as plt

        rows, columns = (1, count) if beside else (count, 1)
        _, made = plt.subplots(
            rows,
            columns,
            figsize=size,
            layout="constrained",
            sharex=not beside,
            squeeze=False,
        )
        return list(made.flat)
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) != count:
        raise ValueError(
            f"`ax` must be {count} axes, one for each panel, got {len(given)}. Make "
            f"them with `plt.subplots({count})`."
        )
    return given


def matrix(name: str, value: Any, n_columns: int | None = None) -> np.ndarray:
    """A `(T, Nx)` array of numbers; NaN is a gap."""
    remedy = "Give one row for each time and one column for each state."
    array = check_numbers(name, value, remedy)
    columns = array.shape[-1] if n_columns is None and array.ndim == 2 else n_columns
    check_shape(name, array.shape, (len(np.atleast_1d(array)), columns or 0), remedy)
    return array


def clock(times: Any, length: int, first: int = 0) -> np.ndarray:
    """The given times, or the step numbers."""
    if times is None:
        return np.arange(first, first + length, dtype=float)
    array = np.asarray(times)
    if array.dtype.kind != "M":  # dates are drawn as they are
        array = check_numbers("times", times, "Give one time for each row.")
    check_shape("times", array.shape, (length,), "Give one time for each row.")
    return array


def tidy(ax: "Axes") -> None:
    """No box, a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, lw=0.6)
    ax.set_axisbelow(True)


def legend_above(ax: "Axes") -> None:
    """Legend in one line above the axes, where there are no data."""
    names = len(ax.get_legend_handles_labels()[1])
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=names, frameon=False, fontsize=9
    )
