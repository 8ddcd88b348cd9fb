"""Which terms and edges are there, by Bayes: particle Gibbs with a spike and a slab.

In turn: a trajectory given the equations (a particle filter that follows the last one,
with ancestor sampling), the terms and coefficients of each equation given it, the share
of terms that enter, and the noises that are learnt. Each draw is exact given the
others, whatever the number of particles (Lindsten, Jordan and Schön, JMLR 15, 2014).
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..checks import check_at_least, check_choice
from ..compiling import compiled
from ..engines import ParticleSmoother
from ..extras import need
from ..model import (
    ConstraintSet,
    GaussianNoise,
    LinearGaussian,
    StateSpaceModel,
    refuse_form,
    resolve_constraints,
    whole_series,
)
from ..model.constraints import Constraint
from ..solution import Solution
from ..solvers.adaptive.unknowns import Unknowns, build, solution_unknowns
from .flow_draws import FlowRegression
from .spike import Limits, draw_equation, draw_within, edges_of

NOISES = ("state_noise", "observation_noise")

TRIES = 10
"""Proposals of the equations of a map for each trajectory, where they are bounded."""

LEAST_NOISE = 1e-3
"""Weight, in observations, of the first guess of a noise that is learnt."""


class Posterior(NamedTuple):
    """Draws from the posterior, and what they say.

    Attributes:
        terms: Probability of each term of each equation.
        edges: Probability that the one state (column) acts on the other (row).
        coefficients: Draws of C.
        state_noise: Draws of the variances of the state noise.
        observation_noise: Draws of those of the observation noise.
    """

    terms: Float[Array, "Nx M"]
    edges: Float[Array, "Nx Nv"]
    coefficients: Float[Array, "draws Nx M"]
    state_noise: Float[Array, "draws Nx"]
    observation_noise: Float[Array, "draws Ny"]

    def to_arviz(
        self, states: Sequence[str] | None = None, terms: Sequence[str] | None = None
    ) -> Any:
        """The draws as `arviz.InferenceData`, of one chain.

        Its variables are `coefficients`, with dimensions `state` and `term`, `included`
        (whether the term is there), `state_noise` and `observation_noise`. It needs
        `pip install "graphgrad[arviz]"`.

        Args:
            states: Names of the states, `state_names_` of an estimator.
            terms: Names of the terms, `terms_`.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ArviZ announces its next version
            arviz = need("arviz", extra="arviz", who="`to_arviz`")
        coefficients = np.asarray(self.coefficients)
        parts = {
            "coefficients": coefficients,
            "included": coefficients != 0,
            "state_noise": np.asarray(self.state_noise),
            "observation_noise": np.asarray(self.observation_noise),
        }
        named = {"state": states, "term": terms}
        return arviz.from_dict(
            posterior={name: values[None] for name, values in parts.items()},
            coords={key: list(value) for key, value in named.items() if value},
            dims={
                "coefficients": ["state", "term"],
                "included": ["state", "term"],
                "state_noise": ["state"],
                "observation_noise": ["column"],
            },
        )


def posterior(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    start: Solution,
    *,
    draws: int = 1000,
    warm_up: int = 200,
    learn: tuple[str, ...] = (),
    form: Any = None,
    constraints: Iterable[Constraint] = (),
    states: Sequence[str] | None = None,
    num_particles: int = 30,
) -> Posterior:
    """Posterior probabilities of terms and edges, from a fit on.

    A term enters with a probability that is drawn, too, from a flat distribution. Its
    coefficient then is Gaussian, with a standard deviation that lets it change its
    state, within a row, by as much as the state is large. A noise that is learnt has a
    flat distribution of its logarithm.

    Args:
        key: Random key.
        ys: Observations; one series with equal steps.
        model: As for `adaptive`.
        start: What `adaptive` found: where the draws begin.
        draws: Number of draws.
        warm_up: Number of draws before these that are not kept.
        learn: Of `"state_noise"` and `"observation_noise"`, what is learnt.
        form: Refused: it was the name of `dynamics`.
        constraints: As for `adaptive`, without linear constraints. A coefficient with
            a sign or bounds is Gaussian within them.
        states: Names by which the constraints call the states and then the inputs.
        num_particles: Number of particles.

    Examples:
        >>> import graphgrad as gg, jax
        >>> system = gg.systems.lotka_volterra()
        >>> model = system.model(dynamics="map")
        >>> ys = system.simulate(jax.random.key(0), 100, scheme="euler").observations
        >>> fit = gg.adaptive(jax.random.key(1), ys, model)
        >>> found = gg.posterior(jax.random.key(2), ys, model, fit, draws=50)
        >>> found.terms.shape, found.edges.shape
        ((2, 6), (2, 2))
    """
    refuse_form(form)
    for part in learn:
        check_choice("learn", part, NOISES)
    draws = check_at_least("draws", draws, 1, "1000 are good.")
    warm_up = check_at_least("warm_up", warm_up, 0, "200 are good.")
    ys = whole_series(ys, model, "posterior draws", least=3)
    seen, noise = model.observation, model.transition.noise
    if not (isinstance(noise, GaussianNoise) and noise.diagonal):
        raise ValueError(
            "`model` must have independent Gaussian state noise for posterior draws, "
            f"got {type(noise).__name__}. Use `stability` instead."
        )
    if not isinstance(start.state_noise, Tracer) and bool(start.noise_free):
        raise ValueError(
            "`start` must be a fit with process noise for posterior draws, got one "
            "that needs none: particles that move without noise cannot be drawn. Use "
            "`stability`, or give a small `state_noise`."
        )
    if "observation_noise" in learn and not (
        isinstance(seen, LinearGaussian) and seen.noise.diagonal
    ):
        raise ValueError(
            "`learn` must leave out 'observation_noise' unless the observation is "
            "linear with independent Gaussian noise. Give its parameters."
        )
    n_inputs = model.library.n_states - model.n_states
    resolved = resolve_constraints(
        constraints, model.library, states, n_inputs=n_inputs, dynamics=model.dynamics
    )
    if (resolved.sources >= 0).any():
        raise ValueError(
            "`constraints` must delay no states for posterior draws, got some: "
            "particles that move without noise cannot be drawn. Use `stability`, or "
            "fit without `lags` of states."
        )
    if resolved.linear_map is not None:
        raise ValueError(
            "`constraints` must tie no coefficients for posterior draws, got `equal` "
            "or `conserve`. Leave them out, or use `stability`."
        )
    low, high = resolved.low[resolved.free], resolved.high[resolved.free]
    bounded = bool((low > -np.inf).any() or (high < np.inf).any())
    engine = ParticleSmoother(num_particles, smoothing="ancestor")
    return _draw(
        key,
        jnp.asarray(ys),
        model,
        start,
        resolved,
        engine,
        draws,
        warm_up,
        tuple(learn),
        bounded,
    )


class _State(NamedTuple):
    trajectory: Float[Array, "T_plus_1 Nx"]
    support: Bool[Array, "Nx M"]
    unknowns: Unknowns
    share: Float[Array, ""]


@compiled
def _draw(
    key: PRNGKeyArray,
    ys: Array,
    model: StateSpaceModel,
    start: Solution,
    constraints: ConstraintSet,
    engine: ParticleSmoother,
    draws: int,
    warm_up: int,
    learn: tuple[str, ...],
    bounded: bool,
) -> Posterior:
    base, free = jnp.asarray(constraints.base, ys.dtype), jnp.asarray(constraints.free)
    terms, _ = model.mean.with_coefficients(base).design(start.states[:-1])
    level, size = (
        jnp.sqrt(jnp.mean(values**2, axis=0)) for values in (start.states[1:], terms)
    )
    slab = level[:, None] / jnp.maximum(size, jnp.finfo(size.dtype).tiny)
    slab = jnp.where(free & (size > 0), slab, 0)
    limits = Limits(
        jnp.asarray(constraints.low, ys.dtype),
        jnp.asarray(constraints.high, ys.dtype),
        slab,
    )
    T, p = len(ys), jnp.sum(free)
    begin = _State(
        trajectory=start.states,
        support=(start.coefficients != base) & free,
        unknowns=solution_unknowns(start),
        share=jnp.asarray(0.5, ys.dtype),
    )

    def step(state: _State, key: PRNGKeyArray) -> tuple[_State, tuple]:
        keys = jax.random.split(key, 6)
        unknowns = state.unknowns
        now = build(model, unknowns.parameters, unknowns, learn)
        trajectory = engine.sweep(keys[0], now, ys, state.trajectory).path
        odds = jnp.log(state.share) - jnp.log1p(-state.share)
        flow = None
        if model.dynamics == "flow":
            flow = FlowRegression.about(model, trajectory, start.coefficients, base)
            support, away = flow.draw_equations(
                keys[1],
                state.support,
                unknowns.parameters - base,
                unknowns.state_noise,
                limits,
                odds,
            )
            squares = jnp.sum((flow.target - flow.terms @ away.T) ** 2, axis=0)
            squares = squares / flow.length
        else:
            terms, rest = model.mean.design(trajectory[:-1])
            gram, target = terms.T @ terms, trajectory[1:] - rest - terms @ base.T

            def equation(inputs: tuple) -> tuple[Array, Array]:
                key, x, q, before, mine = inputs
                known = gram / q, terms.T @ x / q
                if bounded:
                    return draw_within(key, *known, before, mine, odds, TRIES)
                return draw_equation(key, *known, before[0], mine.slab, odds)

            rows = jax.random.split(keys[1], len(slab)), target.T
            before = state.support, unknowns.parameters - base
            support, away = jax.lax.map(
                equation, (*rows, unknowns.state_noise, before, limits)
            )
            squares = jnp.sum((target - terms @ away.T) ** 2, axis=0)
        count = jnp.sum(support)
        share = jax.random.beta(keys[2], 1.0 + count, 1.0 + p - count, dtype=ys.dtype)
        unknowns = unknowns._replace(parameters=base + away)
        if "state_noise" in learn:
            q = _variance(keys[3], squares, jnp.asarray(T), start.state_noise)
            if flow is not None:
                before = unknowns.state_noise
                q = flow.accept_noise(keys[5], away, before, q)
            unknowns = unknowns._replace(state_noise=q)
        if "observation_noise" in learn:
            there = ~jnp.isnan(ys)
            miss = jnp.where(there, ys - model.observation.mean(trajectory[1:]), 0)
            r = _variance(
                keys[4],
                jnp.sum(miss**2, axis=0),
                jnp.sum(there, axis=0),
                start.observation_noise,
            )
            unknowns = unknowns._replace(observation_noise=r)
        state = _State(trajectory, support, unknowns, jnp.clip(share, 1e-6, 1 - 1e-6))
        drawn = (
            unknowns.parameters,
            unknowns.state_noise,
            unknowns.observation_noise,
        )
        return state, drawn

    # One loop for both, which compiles in half the time of two.
    keys = map(jax.random.split, jax.random.split(key), (warm_up, draws))
    drawn = jax.lax.scan(step, begin, jnp.concatenate(list(keys)))[1]
    C, q, r = (values[warm_up:] for values in drawn)
    present = jnp.asarray(constraints.zero, ys.dtype) != C
    edges = edges_of(present, model.library.incidence)
    return Posterior(jnp.mean(present, axis=0), edges, C, q, r)


def _variance(
    key: PRNGKeyArray,
    squares: Float[Array, "N"],
    count: Array,
    guess: Float[Array, "N"],
) -> Float[Array, "N"]:
    """Variances given sums of squares; their logarithm has a flat prior."""
    shape = 0.5 * (count + LEAST_NOISE) * jnp.ones_like(squares)
    rate = 0.5 * (squares + LEAST_NOISE * guess)
    return rate / jax.random.gamma(key, shape, dtype=squares.dtype)
