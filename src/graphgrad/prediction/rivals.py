"""Autoregressions beside a fit, with which its forecasts are averaged.

Sparse equations predict well if they are right. Where a check says that they may not
be, or where they are an autoregression themselves, of which terms were left out, the
average of several forecasts is rarely worse than the best of them (Bates and Granger,
Operational Research Quarterly 20, 1969). The rivals are persistence, an autoregression
of each column, one of its changes, and one of all columns together. Weights and widths
are by the errors at each number of steps, on the rows of the fit.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..data.series import is_regular
from ..diagnostics.baselines import LagModel, fit_ar, fit_var, persistence
from ..diagnostics.rolling import rolling_errors
from ..fits.record import DOUBTED, Fit
from ..model import GaussianNoise
from ..solution import Solution
from .ensemble import Ensemble

FEWEST_ROWS = 30
"""Rows from which on rivals can be compared with one another."""

MOST_COLUMNS = 20
"""Columns up to which rivals are fitted, so that it takes a second or two."""

MOST_ROWS = 1000
"""Rows, the last ones, to which rivals are fitted."""

WINDOWS = 8
"""Times that rivals are fitted to fewer rows, to forecast those after."""

ROWS_A_STEP = 6
"""Rows for each step that is compared; further ones have the weights of the last."""

SHARPNESS = 4
"""Weights are inverse mean squared errors to this power."""

NORMAL_BAND = 0.6827
"""Probability within one standard deviation of a normal distribution."""

WIDER = 0.93
"""Relative excess of the 95 % quantile of Student's t, times its degrees of freedom."""

REGRESSION = "an autoregression"

LEAST_WEIGHT = 0.05
"""Weight below which a rival is left out."""


class Rivals(NamedTuple):
    """Rivals of a fit.

    Attributes:
        models: The rivals, fitted to all rows.
        names: What they are, in words.
        weights: Weight of the fit, and then of each rival, by number of steps.
        spreads: Size of the errors of the average of the rivals, by number of steps.
    """

    models: tuple[LagModel, ...]
    names: tuple[str, ...]
    weights: Float[np.ndarray, "steps rivals_plus_1"]
    spreads: Float[np.ndarray, "steps Ny"]

    @property
    def sentence(self) -> str:
        """What forecasts are averaged with, and the weights, in words."""
        names = ("the equations", *self.names)
        steps = dict.fromkeys((1, len(self.weights)))
        shares = "; ".join(
            f"at step {step} "
            + ", ".join(
                f"{name} {100 * share:.0f} %"
                for name, share in zip(names, self.weights[step - 1], strict=True)
                if share
            )
            for step in steps
        )
        return f"Forecasts are averages by past errors: {shares}."

    def averaged(
        self,
        states: Ensemble,
        observed: Ensemble,
        history: Float[np.ndarray, "T Ny"],
        inputs: Float[np.ndarray, "steps_plus_1 Nu"] | None,
        scale: Float[np.ndarray, "Ny"],
        places: list[int],
    ) -> tuple[Ensemble, Ensemble]:
        """Ensembles whose medians and widths are averages with those of the rivals.

        Members are moved and stretched about the median, so that quantiles are averaged
        and trajectories keep their shape.

        Args:
            states: Ensemble of the states by the equations.
            observed: Ensemble of the observations by the equations.
            history: The rows up to the origin.
            inputs: Inputs at the origin and of each step, if any.
            scale: Size of recent errors of each column.
            places: Index of the state that each column observes.
        """
        median, members = observed.median, observed.members
        steps, n = len(median), len(history)
        rows = np.minimum(np.arange(steps), len(self.weights) - 1)
        if inputs is not None:
            inputs = np.concatenate([np.repeat(inputs[:1], n - 1, axis=0), inputs])
        theirs = np.stack(
            [model.forecasts(history, [n], steps, inputs)[0] for model in self.models],
            axis=1,
        )
        own, other = self.weights[rows, :1], self.weights[rows, 1:, None]
        centre = (other * theirs).sum(axis=1)
        spread = (1 - own) * self.spreads[rows] * scale
        # Where the equations have no weight, they may have diverged.
        alone = own + 0 * spread == 0
        low, high = np.moveaxis(observed.band(NORMAL_BAND), -1, 0)
        width = np.where(high > low, (high - low) / 2, 1.0)
        stretch = np.where(high > low, own + spread / width, 1.0)[rows]
        shares = (np.arange(len(members)) + 0.5) / len(members)
        normal = np.array([NormalDist().inv_cdf(share) for share in shares.tolist()])
        drawn = centre + normal[:, None, None] * np.where(high == low, 0.0, spread)
        moved = own * median + centre + (members - median) * stretch
        x, about = states.members.copy(), states.median[:, places]
        there = about - (1 - own) * median + centre + (x[..., places] - about) * stretch
        x[..., places] = np.where(alone, drawn, there)
        observed = observed._replace(members=np.where(alone, drawn, moved))
        return states._replace(members=x), observed


def rivals_of(fit: Fit, steps: int) -> Rivals | None:
    """Rivals of a fit whose equations may be wrong, or are linear; else None.

    Args:
        fit: The fit.
        steps: Most steps of the forecasts.
    """
    if not _may_be_wrong(fit):
        return None
    (series,) = fit.panel.series
    assert isinstance(fit.solution, Solution)
    filtered = np.asarray(fit.solution.filtered)[fit.data.rows[0]]
    ys = filled(series.values, filtered, fit)[-MOST_ROWS:]
    truth = series.values[-MOST_ROWS:]
    acting = fit.task.acting
    inputs = np.zeros((len(ys), 0))
    if acting is not None:
        inputs = acting.series[0].values[-MOST_ROWS:]
    steps = min(steps, max(1, len(ys) // ROWS_A_STEP))
    first = len(ys) // 2
    own = rolling_errors(fit, steps, len(series.values) - len(ys) + first - 1)
    size = np.nanstd(truth, axis=0)
    size = np.where(size > 0, size, 1.0)
    models = _fitted(ys, inputs)
    origins = np.arange(first, len(ys) - steps + 1)
    left = _rolling_errors(ys, truth, inputs, origins, steps)
    theirs = _size(left / size)
    # On its own rows the fit does better than on others, by as much as a regression.
    again = _errors(models[REGRESSION], ys, truth, inputs, origins, steps)
    familiar = _size(again[:, :, None] / size)[:, 0]
    rise = theirs[:, list(models).index(REGRESSION)] / np.maximum(familiar, 1e-300)
    if own is None or not np.isfinite(theirs).all():
        return None
    errors = np.column_stack([own * np.maximum(rise, 1.0), theirs])
    errors = np.maximum(errors, 1e-9)
    weights = (errors / errors.min(axis=1, keepdims=True)) ** (-2.0 * SHARPNESS)
    for least in (0.0, LEAST_WEIGHT):
        weights = np.where(weights < least, 0.0, weights)
        weights = weights / weights.sum(axis=1, keepdims=True)
    others = weights[:, 1:] / np.maximum(
        weights[:, 1:].sum(axis=1, keepdims=True), 1e-9
    )
    averaged = np.einsum("ohkj,hk->ohj", left, others)
    # Neighbouring forecasts share most of their steps.
    seen = len(origins) / np.arange(1, steps + 1)
    spreads = np.sqrt(np.nanmean(averaged**2, axis=0)) * (1 + WIDER / seen)[:, None]
    return Rivals(tuple(models.values()), tuple(models), weights, spreads)


def filled(
    values: Float[np.ndarray, "T Ny"], means: Float[np.ndarray, "T Nx"], fit: Fit
) -> Float[np.ndarray, "T Ny"]:
    """Rows of which missing values are those of the filtered states."""
    return np.where(np.isnan(values), means @ np.asarray(fit.layout.matrix).T, values)


def _may_be_wrong(fit: Fit) -> bool:
    """Whether nothing but the data says what the equations are, and they may be others.

    That is, the fit failed or is doubted, or is an autoregression itself.
    """
    kinds = fit.model.transition.noise, fit.model.observation.noise
    settings, series = fit.task.settings, fit.panel.series
    if not (
        isinstance(fit.solution, Solution)
        and {"state_noise", "observation_noise"} == set(fit.task.prepared.learn)
        and all(isinstance(kind, GaussianNoise) for kind in kinds)
        and not fit.engine.stochastic
        and not settings["constraints"]
        and not settings["prior"]
        and settings["library"] is None
        and fit.layout.matrix is not None
        and None not in fit.observed
        and len(set(fit.observed)) == len(fit.observed)
        and len(fit.observed) <= MOST_COLUMNS
        and len(series) == 1
        and len(series[0].values) >= FEWEST_ROWS
        and is_regular(series[0].times, fit.dt)
    ):
        return False
    curved = fit.layout.library.incidence.sum(axis=0) > 1
    linear = not (fit.solution.departures()[:, curved] != 0).any()
    return fit.outcome not in DOUBTED or (linear and fit.dynamics == "map")


def _fitted(
    ys: Float[np.ndarray, "T Ny"], inputs: Float[np.ndarray, "T Nu"]
) -> dict[str, LagModel]:
    """Rivals by name."""
    found = {
        "persistence": persistence(ys.shape[1]),
        REGRESSION: fit_ar(ys, inputs=inputs),
        "one of changes": fit_ar(np.diff(ys, axis=0), inputs=inputs[1:]).summed,
    }
    if ys.shape[1] > 1:
        found["one of all columns"] = fit_var(ys, inputs=inputs)
    return found


def _rolling_errors(
    ys: Float[np.ndarray, "T Ny"],
    truth: Float[np.ndarray, "T Ny"],
    inputs: Float[np.ndarray, "T Nu"],
    origins: Int[np.ndarray, "origins"],
    steps: int,
) -> Float[np.ndarray, "origins steps rivals Ny"]:
    """Errors of rivals that were fitted to the rows before."""
    found = []
    for part in np.array_split(origins, min(WINDOWS, len(origins))):
        models = _fitted(ys[: part[0]], inputs[: part[0]]).values()
        made = [_errors(model, ys, truth, inputs, part, steps) for model in models]
        found.append(np.stack(made, axis=2))
    return np.concatenate(found)


def _errors(
    model: LagModel,
    ys: Float[np.ndarray, "T Ny"],
    truth: Float[np.ndarray, "T Ny"],
    inputs: Float[np.ndarray, "T Nu"],
    origins: Int[np.ndarray, "origins"],
    steps: int,
) -> Float[np.ndarray, "origins steps Ny"]:
    """Errors of a model; NaN where nothing was observed."""
    ahead = truth[origins[:, None] + np.arange(steps)]
    return model.forecasts(ys, origins, steps, inputs) - ahead


def _size(
    errors: Float[np.ndarray, "origins steps rivals Ny"],
) -> Float[np.ndarray, "steps rivals"]:
    """Root mean squares over origins and columns."""
    return np.sqrt(np.nanmean(errors**2, axis=(0, 3)))
