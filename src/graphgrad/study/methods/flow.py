"""The estimator with its defaults on flows: dx/dt from rows and the time between them.

One series after another, as users do it. Fits of the same shape compile once per
process.
"""

import time
from typing import Any

import numpy as np

from ...estimator import GraphGrad
from ...model import forbid, known
from ...solution import Outcome
from ..flow_draws import LORENZ
from ..flow_scores import scored_rates
from ..plan import Cell, Draws, Results

NINETY = 1.6448536269514722
"""Standard errors on either side of a 90 % interval."""


def _series(ys: np.ndarray) -> Any:
    """The data for `fit`: one series, or a list of several."""
    return ys if ys.ndim == 2 else list(ys)


def _outcome(model: GraphGrad) -> dict[str, float]:
    """Outcome and settings of a fit."""
    outcome = Outcome[model.outcome_]
    return {
        "converged": float(outcome == Outcome.converged),
        "outcome": float(outcome),
        "flow": float(model.dynamics_ == "flow"),
        "substeps": float(model.substeps_),
        "no_process_noise": float(not np.any(model.state_noise_)),
        "sweeps": float(model.n_iter_),
    }


def fitted(cell: Cell, draws: Draws, **settings: Any) -> Results:
    """Fit a chunk and score it.

    `covered` is the share of true rates within their 90 % intervals, for fits with the
    right terms. A fit that returns a map counts as one without any rate.

    Args:
        cell: The cell.
        draws: Its data.
        **settings: Arguments of the estimator, besides `degree` and `dt`.
    """
    truth = draws.system.coefficients(cell.degree, dynamics="flow")
    rates, rows = [], []
    for seed, ys in zip(draws.seeds.tolist(), draws.observations, strict=True):
        model = GraphGrad(
            degree=cell.degree, dt=draws.system.dt, random_state=seed, **settings
        )
        begin = time.perf_counter()
        model.fit(_series(ys))
        spent = time.perf_counter() - begin
        flow = model.dynamics_ == "flow"
        found = model.coef_ if flow else np.zeros_like(truth)
        rates.append(found)
        rows.append({"fit_seconds": spent, **_outcome(model)})
        rows[-1]["covered"] = _covered(found, model.standard_errors_, truth)
    results = scored_rates(cell, draws, np.stack(rates))
    results |= {name: np.array([one[name] for one in rows]) for name in rows[0]}
    right, sure = results["exact"], results["converged"]
    return {
        **results,
        "converged_right": right * sure,
        "converged_wrong": (1 - right) * sure,
    }


def _covered(found: np.ndarray, errors: np.ndarray, truth: np.ndarray) -> float:
    on = truth != 0
    if ((found != 0) != on).any():
        return np.nan
    return float(np.mean(np.abs(found - truth)[on] <= NINETY * errors[on]))


def flow(cell: Cell, draws: Draws) -> Results:
    """Everything estimated; only the degree and the time between rows are given."""
    return fitted(cell, draws)


def noise_given(cell: Cell, draws: Draws) -> Results:
    """The measurement noise given, the process noise estimated."""
    return fitted(cell, draws, observation_noise=draws.system.observation_noise)


def ode_given(cell: Cell, draws: Draws) -> Results:
    """The measurement noise given, and no process noise."""
    noise = draws.system.observation_noise
    return fitted(cell, draws, observation_noise=noise, state_noise=0.0)


FREE = ("x2", "x1")
"""The one unknown coefficient of `one_unknown`: rho of the Lorenz equations."""


def one_unknown(cell: Cell, draws: Draws) -> Results:
    """Lorenz with only x1 observed and all known but rho: its interval.

    The first row is combined with the prior of the initial state, as the estimator's
    initial distribution applies one interval before the first row it is given.
    """
    system = draws.system
    terms = system.library(cell.degree).names(system.states)
    constraints = [
        known(state, term, LORENZ[state][term])
        if term in LORENZ[state]
        else forbid(state, term)
        for state in system.states
        for term in terms
        if (state, term) != FREE
    ]
    row, column = system.states.index(FREE[0]), terms.index(FREE[1])
    truth = LORENZ[FREE[0]][FREE[1]]
    rows = []
    for seed, ys in zip(draws.seeds.tolist(), draws.observations, strict=True):
        model = GraphGrad(
            degree=cell.degree,
            dt=system.dt,
            states=list(system.states),
            observation=["x1"],
            state_noise=system.state_noise,
            observation_noise=float(system.observation_noise[0]),
            initial=_start(system, float(ys[0, 0])),
            constraints=constraints,
            random_state=seed,
        )
        begin = time.perf_counter()
        model.fit(ys[1:])
        spent = time.perf_counter() - begin
        value = float(model.coef_[row, column])
        half = NINETY * float(model.standard_errors_[row, column])
        rows.append(
            {
                "rho": value,
                "rho_low": value - half,
                "rho_high": value + half,
                "rho_error": abs(value - truth),
                "rho_covered": float(abs(value - truth) <= half),
                "fit_seconds": spent,
                **_outcome(model),
            }
        )
    return {name: np.array([one[name] for one in rows]) for name in rows[0]}


def _start(system: Any, first: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the state given the first row."""
    prior, noise = 0.01, float(system.observation_noise[0])
    mean, variances = np.array(system.x0, float), np.full(3, prior)
    mean[0] += prior / (prior + noise) * (first - mean[0])
    variances[0] = prior * noise / (prior + noise)
    return mean, np.diag(variances)
