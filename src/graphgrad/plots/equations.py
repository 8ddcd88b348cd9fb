"""Plots of coefficients: the matrix, and the regularisation path."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import check_finite, check_positive, check_shape
from ..library import AbstractLibrary, variable_names
from .style import GREY, colour, one_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Above this number of cells there is no room for numbers.
MOST_NUMBERS = 150
DASHES = ("-", "--", ":", "-.")


def plot_coefficients(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    all_terms: bool = False,
    ax: "Axes | None" = None,
) -> "Axes":
    """The coefficient matrix C: blue is positive, red is negative, white is zero.

    Colours follow the logarithm of the absolute value, so that small coefficients show.

    Args:
        coefficients: C, of shape `(Nx, M)`.
        library: The terms.
        states: Names of the states, followed by those of the inputs.
        all_terms: Whether to show also terms with no nonzero coefficient.
        ax: Axes to draw on.

    Examples:
        >>> import graphgrad as gg
        >>> system = gg.systems.lorenz63(dt=0.02)
        >>> ax = plot_coefficients(system.coefficients(), system.library())
        >>> [label.get_text() for label in ax.get_xticklabels()]
        ['x1', 'x2', 'x3', 'x1 x2', 'x1 x3']
    """
    from matplotlib.colors import SymLogNorm

    C, rows, names = _named(coefficients, library, states)
    used = (C != 0).any(axis=0)
    shown = np.flatnonzero(used | all_terms | ~used.any())
    C, names = C[:, shown], [names[j] for j in shown]
    cells = max(1, len(names))
    ax = one_axes(ax, size=(min(14, 2.2 + 0.75 * cells), 1.5 + 0.45 * len(rows)))
    sizes = np.abs(C[C != 0])
    low, high = (sizes.min(), sizes.max()) if len(sizes) else (0.5, 1.0)
    # The smallest coefficient is visible as well.
    norm = SymLogNorm(linthresh=low, linscale=0.5, vmin=-high, vmax=high)
    picture = ax.imshow(C, cmap="RdBu", norm=norm, aspect="auto")
    _name_columns(ax, names)
    ax.set_yticks(range(len(rows)), rows, fontsize=9)
    ax.set_xticks(np.arange(len(names) + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="0.85", lw=0.8)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    ax.set(xlabel="term", ylabel="equation of")
    if C.size <= MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(C):
            if value:
                dark = abs(norm(value) - 0.5) > 0.35
                ax.text(
                    j,
                    i,
                    f"{value:+.3g}".replace("-", "\N{MINUS SIGN}"),
                    ha="center",
                    va="center",
                    fontsize=9,
                    color="white" if dark else "black",
                )
    else:
        ax.figure.colorbar(picture, ax=ax, label="coefficient")
    return ax


def plot_path(
    path: Any,
    prices: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    chosen: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """The regularisation path: coefficients against the penalty, chosen one marked.

    Terms with nonzero coefficients at the chosen penalty are coloured by equation and
    named; all others are grey.

    Args:
        path: Coefficients at each penalty, `(L, Nx, M)`.
        prices: The penalties per term, `(L,)`.
        library: The terms.
        states: Names of the states, followed by those of the inputs.
        chosen: The chosen penalty; the lowest by default.
        ax: Axes to draw on.

    Examples:
        >>> import graphgrad as gg
        >>> path = [[[0, 0, 0]], [[0, 0.5, 0]], [[0, 0.8, 0.1]]]
        >>> ax = plot_path(path, [9, 3, 1], gg.Polynomial(2, 1), chosen=3.0)
        >>> ax.get_legend_handles_labels()[1]
        ['x1 in x1', 'chosen']
    """
    prices = check_finite("prices", prices, "Give a penalty for each step of the path.")
    if (prices <= 0).any():
        raise ValueError(
            f"`prices` must be positive, got {prices.min()}. The axis is "
            "logarithmic: leave out the fit without a penalty."
        )
    steps = check_finite("path", path, "Give coefficients of shape (L, Nx, M).")
    check_shape("path", steps.shape[:1], prices.shape, "One penalty for each step.")
    _, rows, names = _named(steps[0], library, states)
    lowest = float(prices.min())
    chosen = lowest if chosen is None else chosen
    penalty = check_positive("chosen", chosen, "A penalty.")
    here = steps[np.argmin(np.abs(np.log(prices) - np.log(penalty)))]
    ax = one_axes(ax, size=(7.5, 4.2))
    sizes = np.abs(here[here != 0])
    if len(sizes):
        # Distinguish coefficients of all magnitudes.
        least, most = np.log10(sizes.min()), np.log10(np.abs(steps).max())
        powers = 10.0 ** np.arange(np.ceil(least), np.ceil(most) + 1)
        ax.set_yscale("symlog", linthresh=sizes.min(), linscale=0.7)
        ax.set_yticks([*-powers[::-1], 0, *powers])
        ax.minorticks_off()
    for i, j in np.argwhere((steps != 0).any(axis=0) & (here == 0)):
        ax.plot(prices, steps[:, i, j], color=GREY, lw=0.8, alpha=0.6)
    order = sorted(np.argwhere(here != 0).tolist(), key=lambda ij: -here[tuple(ij)])
    dashes = dict.fromkeys(range(len(rows)), 0)
    for i, j in order:
        label = f"{names[j]} in {rows[i]}"
        dash = DASHES[dashes[i] % len(DASHES)]
        ax.plot(prices, steps[:, i, j], dash, color=colour(i), lw=1.7, label=label)
        dashes[i] += 1
    ax.axhline(0, color="black", lw=0.6)
    ax.axvline(penalty, color="black", lw=1, ls=(0, (1, 2)), label="chosen")
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set(xlabel="penalty per term (lower to the right)", ylabel="coefficient")
    tidy(ax)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return ax


def _name_columns(ax: "Axes", names: list[str]) -> None:
    """As large as space permits, rotated if long, and thinned if too many."""
    room = 72 * ax.bbox.width / ax.figure.dpi / max(1, len(names))
    turn = {}
    if max(map(len, names), default=0) * 5.5 > room:
        turn = {"rotation": 90 if room < 18 else 45, "rotation_mode": "anchor"}
        turn |= {"ha": "right", "va": "center" if room < 18 else "top"}
    each = int(np.ceil(7 / room))
    ax.set_xticks(
        range(0, len(names), each),
        names[::each],
        fontsize=float(np.clip(0.8 * room * each, 5, 9)) if turn else 9,
        **turn,
    )


def _named(
    coefficients: Any, library: AbstractLibrary, states: Sequence[str] | None
) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...]]:
    """Coefficients, row names and column names."""
    C = check_finite("coefficients", coefficients, "They come from a fit.")
    rows = min(len(np.atleast_1d(C)), library.n_states)
    shape = (rows, library.n_terms)
    remedy = "Give one row per state, one column per term."
    check_shape("coefficients", C.shape, shape, remedy)
    variables = variable_names(library.n_states, rows, states)
    return C, variables[:rows], library.names(variables)
