"""The adaptive solver: nothing to tune, at the statistical limit.

Annealed proximal EM finds a first support from each of a few starts (`anneal`);
likelihood ascent and the exchange of terms make it the best one (`refine`); the start
that ends with the lowest extended BIC is the solution.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, PRNGKeyArray

from ..checks import check_at_least, check_choice, check_positive
from ..compiling import compiled
from ..engines import AbstractEngine, choose_engine
from ..engines.gaussian import along
from ..library.degrees import default_states
from ..model import (
    AbstractScaleNoise,
    GaussianNoise,
    LinearGaussian,
    StateSpaceModel,
    checked_series,
    filled,
    in_long_gaps,
)
from ..model.constraints import Knowledge, Known, OnlyEdges, Sign, knowledge
from ..solution import Outcome, Solution
from .anneal import STILL, Annealing, Plan, anneal, begin, identity
from .outcome import against_persistence
from .outlook import look
from .refine import (
    Candidate,
    Refinement,
    begin_refinement,
    crossed,
    refine,
    term_price,
    where_each,
)
from .statistics import gather, scatter
from .subset import best_subset, inverse_on, price_path
from .unknowns import LEARNABLE, Unknowns, build, given, independent_noise
from .variances import restricted

FORMS = ("map", "rate")
GAMMAS = (0.5, 2.0, 8.0, 16.0)
"""How dear a term is while annealing: one start for each."""


LONG_GAP = 4.5
"""Steps between observations from which on a straight line is no guess of the path."""

HIDDEN_STEPS = (1e-1, 1e-2, 1e-3, 1e-4)
"""Variance of a step of a hidden state, over that of its initial law, in each start."""


class AdaptiveSteps(eqx.Module):
    """How long the adaptive solver goes on. There is no need to change it.

    Attributes:
        rounds: How often to anneal, at most.
        anneal: Most annealing steps of a start in a round.
        ramp: Steps over which the penalties rise.
        sweeps: Most sweeps of a start after annealing.
        climb: Most sweeps on one choice of terms.
    """

    rounds: int = eqx.field(static=True)
    anneal: int = eqx.field(static=True)
    ramp: int = eqx.field(static=True)
    sweeps: int = eqx.field(static=True)
    climb: int = eqx.field(static=True)

    def __init__(
        self,
        anneal: int = 60,
        *,
        rounds: int = 3,
        ramp: int = 20,
        sweeps: int = 150,
        climb: int = 15,
    ):
        self.rounds = check_at_least("rounds", rounds, 1, "3 are enough.")
        self.anneal = check_at_least("anneal", anneal, 1, "60 is enough.")
        self.ramp = check_at_least("ramp", ramp, 1, "A third of the steps is good.")
        self.sweeps = check_at_least("sweeps", sweeps, 1, "150 is enough.")
        self.climb = check_at_least("climb", climb, 4, "15 is enough.")


class AdaptiveProgress(NamedTuple):
    """What a callback is told.

    Attributes:
        stage: `"anneal"` or `"refine"`.
        sweeps: Sweeps done in this stage by the slowest start.
        most: Sweeps that this stage takes at most.
        log_likelihood: Of the best start.
        n_nonzero: Number of its terms.
    """

    stage: str
    sweeps: int
    most: int
    log_likelihood: float
    n_nonzero: int


def adaptive(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    *,
    engine: str | AbstractEngine = "auto",
    learn: tuple[str, ...] = (),
    form: str = "map",
    constraints: Iterable[Known | OnlyEdges | Sign] = (),
    weight: Any = 1.0,
    settings: AdaptiveSteps | None = None,
    callback: Any = None,
) -> Solution:
    """Find the terms, their coefficients and the noises.

    Args:
        key: Random key; the same key gives the same result.
        ys: Observations, `(T, Ny)`; NaN says not observed.
        model: What is known; its coefficients are ignored.
        engine: How the hidden path is inferred: `"auto"`, `"gaussian"`,
            `"particle"`, `"ensemble"`, or an engine of yours.
        learn: What is learnt beside the coefficients, of `"state_noise"`,
            `"observation_noise"` and `"initial"` (the law of x_0); the model's value is
            then where to start.
        form: `"map"` looks for a sparse C, as the paper does; `"rate"` for a sparse
            C - I, as people who think of dx/dt do.
        constraints: What is known of the equations, by `known`, `forbid`, `sign` and
            `only_edges`.
        weight: Makes terms dearer (above 1) or cheaper than the criterion does.
        settings: How long to go on.
        callback: Called with an `AdaptiveProgress` now and then.

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
    check_choice("form", form, FORMS)
    if not isinstance(weight, Tracer):
        check_positive("weight", weight, "1 is the criterion as it is.")
    settings = settings or AdaptiveSteps()
    engine, reason = choose_engine(engine, model)
    _check_learnable(model, learn)
    ys = checked_series(ys, model, least=3)
    learn = tuple(learn)
    options: dict[str, Any] = {"engine": engine, "learn": learn, "settings": settings}
    n_inputs = model.library.n_states - model.n_states
    told = knowledge(constraints, model.library, n_inputs=n_inputs)
    weight = jnp.asarray(weight, ys.dtype)
    plan, annealing = _begin(ys, model, weight, told, form, learn)
    # One call for each stage, unless somebody watches.
    slice_ = 10 if callback is not None else settings.anneal + settings.sweeps

    def climb(
        starts: Refinement, plan: Plan, learn: tuple[str, ...], most: int
    ) -> Refinement:
        how = {**options, "learn": learn}
        for until in range(slice_, settings.sweeps + slice_, slice_):
            limits = np.int32(until), np.int32(most)
            starts = _refine(key, starts, plan, *limits, **how)
            if callback is not None:
                callback(
                    _progress("refine", starts.sweeps, settings.sweeps, starts.best)
                )
                if bool(np.all(starts.done)):
                    break
        return starts

    # Terms are first exchanged with the state noise free, above what is known of it:
    # a wrong model with little noise loses the data, and cannot be improved. With it
    # known and independent the same program holds it fixed.
    free = tuple(dict.fromkeys((*learn, "state_noise")))

    def search(key: PRNGKeyArray, starts: Annealing) -> Refinement:
        for until in range(slice_, settings.anneal + slice_, slice_):
            starts = _anneal(key, starts, plan, np.int32(until), **options)
            if callback is not None:
                done = int(np.max(starts.step))
                if done > 0:  # none where all starts agree
                    callback(_progress("anneal", starts.step, settings.anneal, starts))
                if done < until:
                    break
        ready = _begin_refinement(starts.unknowns, starts.path, plan)
        return climb(ready, plan, free, settings.climb)

    refinement = search(jax.random.fold_in(key, 0), annealing)
    for number in range(1, settings.rounds):
        annealing = _anneal_again(annealing, refinement, plan)
        again = search(jax.random.fold_in(key, number), annealing)
        refinement = _better(again, refinement)
    if "state_noise" not in learn:
        plan = plan._replace(free=jnp.array(False))
        refinement = _with_known_noise(refinement, plan)
        if independent_noise(model):
            learn = free
        refinement = climb(refinement, plan, learn, settings.climb)
    # The last climb may take its time: laws that are not Gaussian, and noises that the
    # data hardly tell, need it.
    crossing = climb(_crossed(refinement, plan), plan, learn, 4 * settings.climb)
    return _finish(key, refinement, crossing, plan, reason=reason, **options)


@compiled
def _begin(
    ys: Array,
    model: StateSpaceModel,
    weight: Array,
    told: Knowledge,
    form: str,
    learn: tuple[str, ...],
) -> tuple[Plan, Annealing]:
    """The plan, and all starts."""
    ys = jnp.asarray(ys)
    states = filled(ys)
    zero = jnp.zeros_like(model.coefficients)
    if form == "rate":
        zero = zero + _identity(model)
    base = jnp.where(told.open, zero, told.values)
    floor = given(model).state_noise
    if "state_noise" in learn:
        # So low that it only keeps logarithms finite.
        floor = 1e-6 * jnp.mean(jnp.diff(states, axis=0) ** 2) * jnp.ones_like(floor)
    start = model.initial_mean
    if not isinstance(model.observation, LinearGaussian) or (
        model.observation.matrix is not None
    ):
        # Least squares about the initial mean, where what is not seen stays.
        seen = jax.jacfwd(model.observation.mean)(start)
        away = states - model.observation.mean(start)
        states = start + away @ jnp.linalg.pinv(seen).T
    path = jnp.concatenate([model.initial_mean[None], states])
    pace = jnp.ones(len(ys)) if model.schedule is None else model.schedule.pace
    unsure = in_long_gaps(ys, jnp.cumsum(pace), LONG_GAP)
    plan = Plan(
        ys=ys,
        model=model,
        base=base,
        zero=zero,
        open=jnp.asarray(told.open),
        signs=jnp.asarray(told.signs, ys.dtype),
        floor=floor,
        weight=weight,
        path=path,
        # The first state is no datum.
        unsure=jnp.concatenate([jnp.array([True]), unsure]),
        free=jnp.array(True),
    )
    shares = jnp.asarray(HIDDEN_STEPS, ys.dtype)
    return plan, jax.vmap(lambda share: begin(plan, share))(shares)


@compiled
def _anneal(key, starts, plan, until, *, engine, learn, settings) -> Annealing:
    def one(gamma: Array, start: Annealing) -> Annealing:
        return anneal(
            key,
            start,
            plan._replace(weight=plan.weight * gamma),
            engine=engine,
            learn=learn,
            steps=settings.anneal,
            ramp=settings.ramp,
            until=until,
        )

    return jax.vmap(one)(jnp.asarray(GAMMAS, plan.ys.dtype), starts)


@compiled
def _anneal_again(before: Annealing, starts: Refinement, plan: Plan) -> Annealing:
    """Anneal from crossed starts, unless all starts agree."""
    crossing = crossed(starts, plan).at
    away = crossing.unknowns.coefficients - plan.base
    best = starts.best.criterion
    agree = jnp.max(best) - jnp.min(best) < 0.1
    return before._replace(
        unknowns=crossing.unknowns,
        candidates=jnp.broadcast_to(away[:, None], before.candidates.shape),
        path=crossing.path,
        step=jnp.zeros_like(before.step),
        still=jnp.full_like(before.still, jnp.where(agree, STILL, 0)),
    )


@compiled
def _better(new: Refinement, old: Refinement) -> Refinement:
    """For each start the better one."""
    better = new.best.criterion < old.best.criterion
    return jax.vmap(where_each)(better, new, old)


@compiled
def _begin_refinement(unknowns: Unknowns, paths: Array, plan: Plan) -> Refinement:
    return jax.vmap(lambda u, path: begin_refinement(u, path, plan))(unknowns, paths)


def _with_known_noise(starts: Refinement, plan: Plan) -> Refinement:
    """Begin again from the best of each start, with the state noise that is known."""
    unknowns = starts.best.unknowns
    noise = given(plan.model).state_noise
    noise = jnp.broadcast_to(noise, unknowns.state_noise.shape)
    unknowns = unknowns._replace(state_noise=noise)
    return _begin_refinement(unknowns, starts.best.path, plan)


@compiled
def _refine(key, starts, plan, until, climb, *, engine, learn, settings) -> Refinement:
    def one(start: Refinement) -> Refinement:
        return refine(
            jax.random.fold_in(key, settings.anneal),
            start,
            plan,
            engine=engine,
            learn=learn,
            sweeps=settings.sweeps,
            until=until,
            climb=climb,
        )

    return jax.vmap(one)(starts)


@compiled
def _crossed(starts: Refinement, plan: Plan) -> Refinement:
    return crossed(starts, plan)


@compiled
def _finish(
    key, starts, crossing, plan, *, engine, learn, settings, reason
) -> Solution:
    """A last look at the best start: path of prices, standard errors, outcome."""
    starts = jax.tree.map(lambda *a: jnp.concatenate(a), starts, crossing)
    winner = jnp.argmin(starts.best.criterion)
    best, done = jax.tree.map(lambda leaf: leaf[winner], (starts.best, starts.done))
    C, price = best.unknowns.coefficients, term_price(plan)
    unknowns: Unknowns = best.unknowns
    if "state_noise" in learn:
        unknowns = unknowns._replace(
            state_noise=restricted(unknowns, best.path, plan, learn)
        )
    model = build(plan.model, unknowns, learn)
    end_key = jax.random.fold_in(key, settings.anneal + settings.sweeps)
    outlook = look(end_key, model, best.support, best.path, plan, engine, noise=False)
    matrix = outlook.information.coefficients
    here = gather(C - plan.base, outlook.active).ravel()
    quadratic = matrix, outlook.gradient + matrix @ here
    shape, M = outlook.active.shape, C.shape[1]
    prices = price * jnp.asarray(2.0 ** np.arange(6, -3.5, -0.5), C.dtype)

    signs = gather(plan.signs, outlook.active).ravel()
    path = price_path(*quadratic, prices, signs=signs).coefficients
    path = path.reshape(-1, *shape)
    path = plan.base + scatter(path, outlook.active, M)
    inverse = inverse_on(matrix, outlook.support)
    errors = jnp.sqrt(jnp.diag(inverse)).reshape(shape)
    stay = best_subset(
        *quadratic, outlook.support, inverse, price, max_changes=0, signs=signs
    )
    sweep = outlook.sweep
    before = jnp.concatenate([model.initial_mean[None], sweep.filtered[:-1]])
    ahead = model.observation.mean(along(model, before))
    error = against_persistence(ahead[1:], plan.ys, plan.ys.shape[0])
    # Steps of a noisy engine never promise nothing.
    climbed = engine.stochastic | (best.decrement < 0.1)
    return Solution(
        coefficients=C,
        base=plan.zero,
        standard_errors=scatter(errors, outlook.active, M),
        state_noise=unknowns.state_noise,
        observation_noise=unknowns.observation_noise,
        initial_mean=unknowns.initial_mean,
        initial_noise=unknowns.initial_noise,
        log_likelihood=best.log_likelihood,
        criterion=best.criterion,
        margin=stay.margin,
        states=sweep.means(),
        state_covariances=sweep.covariances(),
        filtered=sweep.filtered,
        prices=prices,
        path=path,
        start_criteria=starts.best.criterion,
        sweeps=starts.sweeps,
        code=_judge(best, done & climbed, stay.margin, error),
        engine=reason,
    )


def _check_learnable(model: StateSpaceModel, learn: tuple[str, ...]) -> None:
    """Say what the solver needs of a model that it does not have."""
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
            "`learn` must leave out 'observation_noise' for a law without a scale, got "
            f"{type(seen).__name__}. Give its parameters."
        )


def _judge(best: Candidate, done: Array, margin: Array, error: Array) -> Array:
    code = jnp.asarray(Outcome.converged.value)
    # Later lines outrank earlier ones.
    for condition, outcome in (
        (margin < 2, Outcome.undecided),
        (~done, Outcome.out_of_sweeps),
        (~(error < 1), Outcome.worse_than_persistence),
        (~jnp.any(best.unknowns.coefficients), Outcome.nothing_left),
        (~jnp.isfinite(best.criterion), Outcome.degenerate_likelihood),
    ):
        code = jnp.where(condition, outcome.value, code)
    return code


def _identity(model: StateSpaceModel) -> np.ndarray:
    """C of the map that leaves every state as it is."""
    still = identity(model)
    missing = np.flatnonzero(still.sum(axis=1) == 0)
    if len(missing):
        raise ValueError(
            "`form` must be 'map' for a library without the term "
            f"{default_states(model.n_states)[missing[0]]!r}, got 'rate'. Add the "
            "states to the library."
        )
    return still


def _progress(stage: str, sweeps: Any, most: int, starts: Any) -> AdaptiveProgress:
    best = int(np.argmax(np.asarray(starts.log_likelihood)))
    C = np.asarray(starts.unknowns.coefficients)[best]
    return AdaptiveProgress(
        stage=stage,
        sweeps=int(np.max(sweeps)),
        most=most,
        log_likelihood=float(np.asarray(starts.log_likelihood)[best]),
        n_nonzero=int(np.count_nonzero(C)),
    )
