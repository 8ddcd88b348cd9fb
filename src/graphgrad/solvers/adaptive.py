"""The adaptive solver: nothing to tune, at the statistical limit.

Annealed proximal EM finds a first support from each of a few starts (`anneal`);
likelihood ascent and the exchange of terms make it the best one (`refine`); the start
that ends with the lowest extended BIC is the solution.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PRNGKeyArray

from ..checks import check_at_least, check_choice, check_positive
from ..engines import AbstractEngine, choose_engine
from ..model import (
    AbstractScaleNoise,
    GaussianNoise,
    StateSpaceModel,
    checked_series,
    in_dynamics,
    refuse_form,
)
from ..model.constraints import Constraint
from ..model.knowledge import knowledge
from ..solution import Solution
from .anneal import Annealing
from .finish import finish
from .plan import Plan
from .refine import Refinement
from .stages import (
    FEW,
    anneal_starts,
    begin_again,
    begin_climbs,
    begin_fit,
    better_starts,
    crossed_starts,
    long_gaps,
    random_starts,
    refine_starts,
    sees_all_states,
    with_known_noise,
)
from .unknowns import LEARNABLE, independent_noise

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
        coefficients: C of the best start as it is now, `(Nx, M)`.
    """

    stage: str
    sweeps: int
    most: int
    log_likelihood: float
    n_nonzero: int
    coefficients: Any = None


def adaptive(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    *,
    engine: str | AbstractEngine = "auto",
    learn: tuple[str, ...] = (),
    dynamics: str = "auto",
    form: None = None,
    constraints: Iterable[Constraint] = (),
    states: Sequence[str] | None = None,
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
        dynamics: `"auto"`: that of the model. Or `"map"` or `"difference"`, for a model
            that is one of the two.
        form: Refused: it was the name of `dynamics`.
        constraints: What is known of the equations, by `known`, `forbid`, `sign`,
            `only_edges`, `bounds`, `conserve` and `equal`.
        states: Names by which the constraints call the states and then the inputs.
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
    refuse_form(form)
    model = in_dynamics(model, dynamics)
    if not isinstance(weight, Tracer):
        check_positive("weight", weight, "1 is the criterion as it is.")
    settings = settings or AdaptiveSteps()
    engine, reason = choose_engine(engine, model)
    _check_learnable(model, learn)
    ys = checked_series(ys, model, least=3)
    learn = tuple(learn)
    options: dict[str, Any] = {"engine": engine, "learn": learn, "settings": settings}
    n_inputs = model.library.n_states - model.n_states
    told = knowledge(
        constraints, model.library, states, n_inputs=n_inputs, dynamics=model.dynamics
    )
    weight = jnp.asarray(weight, ys.dtype)
    gaps = isinstance(ys, Tracer) or bool(np.any(long_gaps(ys, model)))
    plan, beginning = begin_fit(ys, model, weight, told, learn, gaps)
    hidden = not sees_all_states(model)
    # One call for each stage, unless somebody watches.
    slice_ = 10 if callback is not None else settings.anneal + settings.sweeps

    def climb(
        starts: Refinement, plan: Plan, learn: tuple[str, ...], most: int
    ) -> Refinement:
        how = {**options, "learn": learn}
        for until in range(slice_, settings.sweeps + slice_, slice_):
            limits = np.int32(until), np.int32(most)
            starts = refine_starts(key, starts, plan, *limits, **how)
            if callback is not None:
                so_far = starts.sweeps, settings.sweeps, starts.best
                callback(_progress("refine", *so_far, plan))
                if bool(np.all(starts.done)):
                    break
        return starts

    # Terms are first exchanged with the state noise free, above what is known of it:
    # a wrong model with little noise loses the data, and cannot be improved. With it
    # known and independent the same program holds it fixed.
    free = tuple(dict.fromkeys((*learn, "state_noise")))

    def search(key: PRNGKeyArray, starts: Annealing) -> Refinement:
        for until in range(slice_, settings.anneal + slice_, slice_):
            starts = anneal_starts(key, starts, plan, np.int32(until), **options)
            if callback is not None:
                done = int(np.max(starts.step))
                if done > 0:  # none where all starts agree
                    so_far = starts.step, settings.anneal, starts
                    callback(_progress("anneal", *so_far, plan))
                if done < until:
                    break
        ready = begin_climbs(starts.unknowns, starts.path, plan)
        return climb(ready, plan, free, settings.climb)

    refinement = search(jax.random.fold_in(key, 0), beginning)
    for number in range(1, settings.rounds):
        annealing = begin_again(beginning, refinement, plan)
        again = search(jax.random.fold_in(key, number), annealing)
        refinement = better_starts(again, refinement)
    if hidden and np.sum(told.open) <= FEW:
        for number in range(settings.rounds):
            random_key = jax.random.fold_in(key, settings.rounds + number)
            again = random_starts(random_key, beginning, plan)
            refinement = better_starts(
                climb(again, plan, free, settings.climb), refinement
            )
    if "state_noise" not in learn:
        plan = plan._replace(free=jnp.array(False))
        refinement = with_known_noise(refinement, plan)
        if independent_noise(model):
            learn = free
        refinement = climb(refinement, plan, learn, settings.climb)
    # The last climb may take its time: laws that are not Gaussian, and noises that the
    # data hardly tell, need it.
    crossing = climb(crossed_starts(refinement, plan), plan, learn, 4 * settings.climb)
    return finish(key, refinement, crossing, plan, reason=reason, **options)


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
            "`learn` must leave out 'observation_noise' for a law without a scale, got "
            f"{type(seen).__name__}. Give its parameters."
        )


def _progress(
    stage: str, sweeps: Any, most: int, starts: Any, plan: Plan
) -> AdaptiveProgress:
    best = int(np.argmax(np.asarray(starts.log_likelihood)))
    parameters = np.asarray(starts.unknowns.parameters)[best]
    return AdaptiveProgress(
        stage=stage,
        sweeps=int(np.max(sweeps)),
        most=most,
        log_likelihood=float(np.asarray(starts.log_likelihood)[best]),
        n_nonzero=int(np.count_nonzero(parameters)),
        coefficients=np.asarray(plan.coefficients(jnp.asarray(parameters))),
    )
