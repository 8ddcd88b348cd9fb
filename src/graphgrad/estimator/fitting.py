"""Fit data: run the requested solver and return the record of the fit."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from ..checks import check_choice, check_positive
from ..data.constant import warn_of_constant
from ..data.frames import read_inputs, read_panel
from ..data.sentinels import warn_of_sentinels
from ..data.series import Panel, Series
from ..data.time_like import warn_of_time_like
from ..diagnostics.doubts import find_doubts
from ..diagnostics.uncertainty import coefficient_covariance
from ..engines import ParticleFilter
from ..fits.record import Fit, Inferred, complete_fit
from ..fits.starting_model import Prepared, found_model
from ..fits.task import Task, make_task
from ..journal import Journal
from ..memory_maps import make_room
from ..model import GaussianNoise
from ..penalties import L1, AbstractPenalty
from ..penalties import penalty as named_penalty
from ..prediction.states import smoothed_states
from ..ready_programs import forget_programs
from ..registries import SELECTIONS
from ..selection import choose_penalty
from ..solution import Outcome, PaperSolution, Solution
from ..solvers import SOLVERS, GradientSteps, adaptive
from .checkpoint import identity
from .linear import or_linear_map
from .memory import fit_with_memory
from .origin import fit_about_origin
from .progress import ProgressLine, recorded
from .setting_checks import check_copies, check_settings, check_texts
from .symmetry import fit_with_symmetry, with_symmetry

NO_FLOW = (Outcome.interval_too_long, Outcome.worse_than_persistence)
"""Outcomes of a flow after which a map is tried."""

MOST_LEFT = 0.5
"""Largest share of unexplained variance of a map that replaces a flow silently."""


def fit_data(
    key: PRNGKeyArray,
    settings: Mapping[str, Any],
    y: Any,
    times: Any = None,
    inputs: Any = None,
    journal: Journal | None = None,
) -> Fit:
    """Fit data and return the record, in the precision that JAX is set to.

    Args:
        key: Random key.
        settings: Parameters of the estimator by name.
        y: Observations, as for `read_panel`.
        times: Times of the rows.
        inputs: Inputs, one row per row of `y`.
        journal: Of the stages of the fit, if it is to go on after it was stopped.
    """
    check_texts(settings)
    make_room(forget_programs)
    panel = read_panel(y, times, time_unit=settings["time_unit"])
    given = read_inputs(inputs, panel)
    check_settings(settings, panel)
    check_copies(settings["observation"], panel, given)
    settings = with_symmetry(settings, panel)
    if not isinstance(y, Series):  # that of a file was asked about when it was read
        warn_of_constant("y", panel)
        warn_of_sentinels("y", panel)
        warn_of_time_like(panel)
        if given is not None:
            warn_of_constant("inputs", given)
            warn_of_sentinels("inputs", given)
    if journal is not None:
        journal.begin(identity(key, settings, panel, given))
    trace: list[Any] = []
    # The paper's solvers keep their own record, and compile to one loop without one.
    callback = settings["callback"]
    if settings["solver"] == "adaptive":
        callback = recorded(callback, trace)
    with ProgressLine(sys.stderr) as line:

        def fit_one(settings: Mapping[str, Any], start: Solution | None = None) -> Fit:
            trace.clear()
            watch = line.wrap(callback)
            found = _solved(key, settings, panel, given, watch, start, journal)
            return complete_fit(*found, infer(key, *found), tuple(trace))

        fit = fit_with_memory(key, settings, panel, fit_one)
        fit = or_linear_map(key, fit, settings, panel, fit_one)
        fit = fit_about_origin(fit, fit_one)
        fit = fit_with_symmetry(fit, fit_one)
    return fit._replace(doubts=find_doubts(fit))


def _solved(
    key: PRNGKeyArray,
    settings: Mapping[str, Any],
    panel: Panel,
    inputs: Panel | None,
    callback: Callable | None,
    start: Solution | None,
    journal: Journal | None,
) -> tuple[Task, Solution | PaperSolution]:
    """Run the solver; also for a map, if intervals are too long for a flow."""
    task = make_task(settings, panel, inputs)
    solution = solve(key, task, callback, start, journal)
    failed = solution.outcome in NO_FLOW
    if failed and settings["dynamics"] == "auto" and _valid_for_maps(settings):
        # For example, an alternating series is not a flow.
        mapped = make_task(settings, panel, inputs, "map")
        other = solve(key, mapped, callback, journal=journal)
        if explains_better(other, solution, task.unit_penalty):
            return mapped, with_interval_warning(other, mapped.prepared)
    return task, solution


def solve(
    key: PRNGKeyArray,
    task: Task,
    callback: Callable | None,
    start: Solution | None = None,
    journal: Journal | None = None,
) -> Solution | PaperSolution:
    """Run the requested solver; from a solution if one is given."""
    settings, prepared = task.settings, task.prepared
    solver, selection = settings["solver"], settings["selection"]
    check_choice("solver", solver, ("adaptive", *SOLVERS))
    check_choice("selection", selection, SELECTIONS)
    constraints, penalty = task.constraints, settings["penalty"]
    if solver != "adaptive":
        return _paper(
            SOLVERS[solver],
            key,
            prepared,
            penalty=penalty,
            n_particles=settings["n_particles"],
            refused={
                "constraints": constraints,
                "selection": selection != "ebic" and selection,
                "prior": settings["prior"],
            },
            callback=callback,
        )
    remedy = "It is a multiple of the extended BIC penalty; leave it out for 1."
    factor = 1.0 if penalty is None else check_positive("penalty", penalty, remedy)
    model, ys, _ = prepared.data
    options: dict[str, Any] = {
        "engine": task.engine,
        "learn": prepared.learn,
        "constraints": constraints,
        "states": task.layout.variables,
    }
    if settings["prior"]:
        options["prior"] = settings["prior"]
    if start is not None:
        options["start"] = start
    if selection == "ebic":
        if journal is not None:
            options["journal"] = journal
        return adaptive(key, ys, model, weight=factor, callback=callback, **options)
    penalties = factor * 2.0 ** np.arange(-2, 3)
    return choose_penalty(
        key, ys, model, penalties=penalties, by=selection, **options
    ).solution


def infer(
    key: PRNGKeyArray, task: Task, solution: Solution | PaperSolution
) -> Inferred:
    """Smoothed states and standard errors; of the solver if it computed them."""
    if not isinstance(solution, PaperSolution):
        return Inferred.of(solution)
    prepared = task.prepared
    model = found_model(prepared.data.model, solution, prepared.learn)
    data = prepared.data._replace(model=model)
    (smoothed,) = smoothed_states(key, task.engine, data)
    assert isinstance(model.initial_noise, GaussianNoise)
    means = np.concatenate([np.asarray(model.initial_mean)[None], smoothed.mean])
    first = np.asarray(model.initial_noise.covariance)[None]
    errors = np.zeros(np.shape(solution.coefficients))
    support = np.asarray(solution.coefficients) != 0
    errors[support] = np.sqrt(np.diag(coefficient_covariance(data, means, support)))
    return Inferred(means, np.concatenate([first, smoothed.covariance]), errors)


def _valid_for_maps(settings: Mapping[str, Any]) -> bool:
    """Whether no setting is specific to a flow."""
    learns = isinstance(settings["state_noise"], str)
    held = settings["inputs_between"] == "held"
    return learns and not settings["constraints"] and held


def explains_better(
    one: Solution | PaperSolution, other: Solution | PaperSolution, penalty: float
) -> bool:
    """Whether the first of two fits to the same data has the lower extended BIC.

    A coefficient has the same penalty in both, whatever the dynamics.
    """

    def criterion(solution: Solution | PaperSolution) -> float:
        terms = np.count_nonzero(solution.departures())
        return -2 * float(solution.log_likelihood) + penalty * terms

    return bool(criterion(one) < criterion(other))


def with_interval_warning(
    solution: Solution | PaperSolution, prepared: Prepared
) -> Solution | PaperSolution:
    """A map that replaced a flow, with a warning if it explains little variance.

    A map of a flow that is sampled too sparsely may explain little of it.
    """
    if not isinstance(solution, Solution):
        return solution
    ys = prepared.data.ys
    left = np.nanvar(ys - np.asarray(solution.predicted), axis=0) / np.nanvar(
        ys, axis=0
    )
    if np.mean(left) < MOST_LEFT:
        return solution
    return solution.with_outcome(Outcome.interval_too_long)


def _paper(
    solve: Callable[..., PaperSolution],
    key: PRNGKeyArray,
    prepared: Prepared,
    *,
    penalty: Any,
    n_particles: Any,
    refused: dict[str, Any],
    callback: Callable | None,
) -> PaperSolution:
    """Run a solver of the paper, which estimates only the coefficients."""
    for name in prepared.learn:
        raise ValueError(
            f"`{name}` must be given for the paper's solver, got 'learn'. Give a value "
            "or use `solver='adaptive'`."
        )
    for name, value in refused.items():
        if value:
            raise ValueError(
                f"`{name}` must be left out for the paper's solver, got {value!r}. "
                "Use `solver='adaptive'`."
            )
    model, ys, _ = prepared.data
    if not isinstance(penalty, str | AbstractPenalty):
        penalty = L1(1.0 if penalty is None else penalty)
    factor = 1.0 if isinstance(penalty, str) else None
    penalty = named_penalty(penalty, factor, incidence=model.library.incidence)
    settings = GradientSteps()
    if n_particles is not None:
        settings = GradientSteps(particle_filter=ParticleFilter(n_particles))
    return solve(key, ys, model, penalty, settings=settings, callback=callback)
