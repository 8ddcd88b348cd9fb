"""Number of steps before a filter with wrong coefficients degenerates.

The bootstrap filter of Alg. 1 on Lorenz 63 as printed in Sec. III-C, in single
precision. Coefficients are drawn from U(-1, 1), where the paper's algorithms start, or
are the true ones. The weights are multiplied as printed, or kept as logarithms.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...compiling import compiled
from ...engines.resampling import multinomial
from ...model import StateSpaceModel
from ..draws import model_of
from ..plan import Cell, Draws, Results
from ..scores import keys_of


def survival(
    key: PRNGKeyArray,
    model: StateSpaceModel,
    ys: Float[Array, "T Ny"],
    *,
    num_particles: int,
    logarithms: bool,
) -> tuple[Array, Array]:
    """Steps before the likelihood is zero: of one step, and of their product.

    The likelihood of a step is the mean weight of the particles. With logarithms it
    counts as zero when it is no longer finite: no finite particle is left.
    """
    K = num_particles
    start_key, key = jax.random.split(key)
    x = model.initial_noise.sample(
        start_key, jnp.broadcast_to(model.initial_mean, (K, model.n_states))
    )

    def step(carry, inputs):
        x, product = carry
        y, step_key = inputs
        move_key, choice_key = jax.random.split(step_key)
        noise = model.transition.noise
        x = noise.sample(move_key, model.transition.mean(x))
        log_weights = model.observation.log_prob(y, x)
        # A particle that overflowed has weight zero.
        log_weights = jnp.where(jnp.isfinite(log_weights), log_weights, -jnp.inf)
        if logarithms:
            likelihood = jax.nn.logsumexp(log_weights) - jnp.log(K)
            product, chances = product + likelihood, log_weights
            alive = jnp.isfinite(likelihood), jnp.isfinite(product)
        else:
            weights = jnp.exp(log_weights)
            likelihood = jnp.mean(weights)
            product, chances = product * likelihood, jnp.log(weights)
            alive = likelihood > 0, product > 0
        return (x[multinomial(choice_key, chances)], product), alive

    first = jnp.zeros(()) if logarithms else jnp.ones(())
    _, alive = jax.lax.scan(step, (x, first), (ys, jax.random.split(key, len(ys))))
    return tuple(jnp.sum(jnp.cumprod(a)) for a in alive)  # pyright: ignore


@cache
def _many(num_particles: int, logarithms: bool, known: bool) -> Any:
    def one(model, key, start, ys):
        draw_key, key = jax.random.split(key)
        model = eqx.tree_at(lambda m: m.initial_mean, model, start)
        if not known:
            shape = model.coefficients.shape
            drawn = jax.random.uniform(draw_key, shape, minval=-1, maxval=1)
            model = model.with_coefficients(drawn)
        return survival(
            key, model, ys, num_particles=num_particles, logarithms=logarithms
        )

    return compiled(jax.vmap(one, in_axes=(None, 0, 0, 0)))


def filter_method(
    name: str, *, logarithms: bool, known: bool
) -> Callable[[Cell, Draws], Results]:
    """A filter as a method: `steps` before the likelihood of one step vanishes.

    `steps_product` is the number before the likelihood of all steps so far vanishes.
    The cell gives `particles` in its settings.
    """

    def method(cell: Cell, draws: Draws) -> Results:
        many = _many(cell.settings["particles"], logarithms, known)
        with jax.enable_x64(False):
            single, product = many(
                model_of(cell, draws),
                keys_of(name, draws.seeds),
                jnp.asarray(draws.states[:, 0], jnp.float32),
                jnp.asarray(draws.observations, jnp.float32),
            )
        return {
            "steps": np.asarray(single, float),
            "steps_product": np.asarray(product, float),
        }

    return method


FILTERS = {
    name: filter_method(name, logarithms=logarithms, known=known)
    for name, logarithms, known in (
        ("plain-filter", False, False),
        ("log-filter", True, False),
        ("plain-filter-true", False, True),
        ("log-filter-true", True, True),
    )
}
