"""The adaptive solver: nothing to tune, at the statistical limit.

Annealed proximal EM finds a first support from each of a few starts (`annealing`);
likelihood ascent and the exchange of terms make it the best one (`exchange`); the start
that ends with the lowest criterion is the solution.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PRNGKeyArray

from ...checks import check_choice, check_positive
from ...engines import AbstractEngine, choose_engine
from ...journal import Journal
from ...lapack_threads import one_lapack_thread
from ...model import (
    AbstractScaleNoise,
    GaussianNoise,
    StateSpaceModel,
    checked_series,
    in_dynamics,
    refuse_form,
    resolve_constraints,
)
from ...model.constraints import Constraint
from ...solution import Outcome, Solution
from ..criterion import choose_criterion, with_prior
from .contradiction import contradicts
from .padding import padded, without_padding
from .plan import FEWER_STARTS_FROM
from .search import Search
from .settings import AdaptiveSteps
from .substeps import (
    ALTERNATES,
    LEAST_MEMORY,
    alternation,
    doubling,
    next_size,
    substeps_of,
    with_substeps,
)
from .units import (
    callback_in_user_units,
    constraints_in,
    in_standard_units,
    in_user_units,
    standard_units,
    start_in_standard_units,
)
from .unknowns import LEARNABLE, fitted
from .windows import window_sizes, windows


def adaptive(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    *,
    engine: str | AbstractEngine = "auto",
    learn: tuple[str, ...] = (),
    dynamics: str = "auto",
    form: Any = None,
    constraints: Iterable[Constraint] = (),
    states: Sequence[str] | None = None,
    criterion: str = "auto",
    prior: Any = None,
    weight: Any = 1.0,
    settings: AdaptiveSteps | None = None,
    callback: Any = None,
    start: Solution | None = None,
    journal: Journal | None = None,
) -> Solution:
    """Find the terms, their coefficients and the noises.

    Args:
        key: Random key; the same key gives the same result.
        ys: Observations, `(T, Ny)`; NaN says not observed.
        model: What is known; its coefficients are ignored.
        engine: How the hidden trajectory is inferred: `"auto"`, `"gaussian"`,
            `"particle"`, `"ensemble"`, or an engine of yours.
        learn: What is learnt beside the coefficients, of `"state_noise"`,
            `"observation_noise"` and `"initial"` (the distribution of x_0); the model's
            value is then where to start.
        dynamics: `"auto"`: that of the model. Or `"map"` or `"difference"`, for a model
            that is one of the two.
        form: Refused: it was the name of `dynamics`.
        constraints: What is known of the equations, by `known`, `forbid`, `sign`,
            `only_edges`, `bounds`, `conserve`, `equal`, `cyclic` and `exchangeable`.
        states: Names by which the constraints call the states and then the inputs.
        criterion: By which terms are chosen: `"beta-binomial"`, `"ebic"`,
            `"ebic-by-degree"`, `"bic"` or `"aic"`. `"auto"`: `"beta-binomial"` for a
            flow, `"ebic-by-degree"` otherwise.
        prior: Probabilities that terms enter an equation, by their names or, as
            `"degree 3"`, for all of a degree; those of the criterion if not stated.
        weight: Multiplier of the penalties that the criterion puts on terms.
        settings: How long to go on.
        callback: Called with an `AdaptiveProgress` now and then.
        start: A solution for the same rows and terms, from which terms are exchanged;
            if None, they are looked for from several starts.
        journal: Has stages that were computed before the fit was stopped, if any.

    Returns:
        The solution. Look at `solution.outcome` before you trust it.

    Examples:
        >>> import graphgrad as gg, jax
        >>> system = gg.systems.lotka_volterra()
        >>> ys = system.simulate(jax.random.key(0), steps=100).observations
        >>> solution = gg.adaptive(jax.random.key(1), ys, system.model())
        >>> solution.outcome.name
        'converged'
        >>> (solution.support() == (system.coefficients() != 0)).all()
        np.True_
    """
    for part in learn:
        check_choice("learn", part, LEARNABLE)
    refuse_form(form)
    model = in_dynamics(model, dynamics)
    if not isinstance(weight, Tracer):
        check_positive("weight", weight, "1 is the criterion as it is.")
    settings = settings or AdaptiveSteps()
    engine, reason = choose_engine(engine, model)
    _check_learnable(model, learn)
    ys = checked_series(ys, model, least=3)
    learn = tuple(learn)
    n_inputs = model.library.n_states - model.n_states
    resolved = resolve_constraints(
        constraints, model.library, states, n_inputs=n_inputs, dynamics=model.dynamics
    )
    if prior and resolved.linear_map is not None:
        raise ValueError(
            "`prior` must be left out where `constraints` tie coefficients to one "
            f"another, got {dict(prior)!r:.60}. Leave out one of the two."
        )
    named = choose_criterion(criterion, model.dynamics)
    search = Search(
        key,
        ys,
        resolved,
        with_prior(named, prior, model.library, states),
        jnp.asarray(weight, ys.dtype),
        engine,
        learn,
        settings,
        callback,
    )
    traced = search.traced or any(
        isinstance(leaf, Tracer) for leaf in jax.tree.leaves(model)
    )
    units = standard_units(model, ys, resolved.sources)
    if units is not None:
        model, ys = in_standard_units(units, model, ys)
        search = search._replace(ys=ys, constraints=constraints_in(units, resolved))
        if callback is not None:
            search = search._replace(callback=callback_in_user_units(units, callback))
        if start is not None:
            start = start_in_standard_units(units, start, resolved)
    if traced:
        found = _solution(search, model, reason)
    else:
        with one_lapack_thread():
            search = search._replace(journal=journal)
            found = _fit(search, model, reason, start)
    return found if units is None else in_user_units(units, found, resolved)


def _fit(
    search: Search, model: StateSpaceModel, reason: str, found: Solution | None
) -> Solution:
    """Fit a model to data that can be looked at."""
    ys, rows = search.ys, len(search.ys)
    if search.engine.stochastic:
        return _solution(search, model, reason)
    # Rounded up to a few lengths, each of which is compiled once.
    untied = search.constraints.linear_map is None
    if untied and model.coefficients.size >= FEWER_STARTS_FROM:
        search = search._replace(settings=search.settings.brief())
    if found is None and model.sees_all_states and untied:
        for size in window_sizes(rows):
            few_ys, few = padded(*windows(ys, model, size))
            few_search = search._replace(ys=few_ys, rivals=False)
            found = _solution(few_search, few, reason, found)
    ys, model = padded(ys, model)
    found = _solution(search._replace(ys=ys), model, reason, found)
    return without_padding(found, rows)


def _solution(
    search: Search, model: StateSpaceModel, reason: str, found: Solution | None = None
) -> Solution:
    """Fit a model, from what a fit of fewer rows found if there is one."""
    if model.dynamics != "flow":
        return search.solution(model, reason, found)
    return _with_substeps(search, model, reason, found)


def _with_substeps(
    search: Search, model: StateSpaceModel, reason: str, before: Solution | None
) -> Solution:
    """Fit a flow with as many steps an interval as it turns out to need."""
    if search.traced or isinstance(model.initial_mean, Tracer):
        return search.solution(model, reason)
    size = int(substeps_of(model))
    if before is not None:
        size = max(size, int(before.substeps))
    while True:
        found = search.solution(with_substeps(model, size), reason, before)
        size = int(found.substeps)
        flow = fitted(model, found, search.learn)
        change = doubling(flow, search.ys, found.states)
        needed = next_size(change, size)
        lost = needed is None or float(change.memory) < LEAST_MEMORY
        lost |= float(alternation(flow, search.ys, found.filtered)) < ALTERNATES
        if lost or needed is None:
            return found.with_outcome(Outcome.interval_too_long)
        if needed <= size:
            resolved = search.constraints
            given = (
                ~resolved.free & (resolved.base != resolved.zero)
                if resolved.linear_map is None
                else None
            )
            estimated = np.asarray(found.standard_errors) > 0
            if given is not None and contradicts(
                flow, np.asarray(search.ys), found.states, given, estimated
            ):
                return found.with_outcome(Outcome.contradicted)
            return found
        size = needed


def _check_learnable(model: StateSpaceModel, learn: tuple[str, ...]) -> None:
    """Say what the solver needs of a model that it does not have."""
    used, built = jnp.zeros(()).dtype, model.initial_mean.dtype
    if built != used:
        raise ValueError(
            f"`model` must be built in the precision that JAX is set to, {used}, got "
            f"{built}. Build it where you fit it, inside or outside `enable_x64`."
        )
    seen = model.observation.noise
    for name, part, kind in (
        ("initial_noise", model.initial_noise, GaussianNoise),
        ("state_noise", model.transition.noise, AbstractScaleNoise),
    ):
        if not isinstance(part, kind):
            raise ValueError(
                f"`{name}` must be a {kind.__name__} for the adaptive solver, got "
                f"{type(part).__name__}. Build the model with `state_space_model`."
            )
    if "observation_noise" in learn and not isinstance(seen, AbstractScaleNoise):
        raise ValueError(
            "`learn` must leave out 'observation_noise' for a distribution without a "
            f"scale, got {type(seen).__name__}. Give its parameters."
        )
