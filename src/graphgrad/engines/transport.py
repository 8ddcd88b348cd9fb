"""Entropic optimal transport, from weighted particles to equally weighted ones.

The plan P is the coupling of the weights w (rows) with equal weights 1/K (columns) of
least cost minus `epsilon` times its entropy. Sinkhorn iterations compute it: in turn,
each of two potentials is set so that one of the two marginals holds.

Corenflos, Thornton, Deligiannidis and Doucet, Differentiable particle filtering via
entropy-regularized optimal transport, ICML 2021; Peyré and Cuturi, Computational
Optimal Transport (2019), chapter 4.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

_COOLING = 0.5
"""Factor of epsilon per iteration, starting from the largest cost."""


def transported(
    x: Float[Array, "K Nx"],
    log_weights: Float[Array, "K"],
    *,
    epsilon: float,
    iterations: int,
) -> Float[Array, "K Nx"]:
    """Equally weighted particles from weighted ones: K P' x.

    Each of them is a mean of the given particles. Particles of zero weight or with
    values that are not finite are excluded; if there are no others, all are returned
    unchanged.

    Args:
        x: Particles.
        log_weights: Their log-weights, normalised or not.
        epsilon: As for `transport_plan`.
        iterations: As for `transport_plan`.
    """
    living = (jnp.exp(log_weights) > 0) & jnp.all(jnp.isfinite(x), axis=1)
    any_living = jnp.any(living)
    log_weights = jnp.where(living | ~any_living, log_weights, -jnp.inf)
    centre = _mean(jnp.where(living[:, None], x, 0), living)
    # Relative to their centre, to avoid loss of digits.
    offsets = jnp.where(living[:, None], x - centre, 0)
    move = partial(_moved, epsilon=epsilon, iterations=iterations)
    # Recompute plans in the backward pass: storing all would fill the memory.
    moved = jax.checkpoint(move)(offsets, living, log_weights)
    return jnp.where(any_living, centre + moved, x)


def transport_plan(
    cost: Float[Array, "K K"],
    log_weights: Float[Array, "K"],
    *,
    epsilon: float,
    iterations: int,
) -> Float[Array, "K K"]:
    """Coupling of the weights (rows) with equal weights (columns).

    The number of iterations is fixed, so that the derivative is that of the result.
    Columns sum to 1/K up to rounding, rows to the weights as the iterations converge:
    fast for an epsilon of the size of the costs, slowly for a small one.

    Args:
        cost: Cost of each pair.
        log_weights: Log-weights; minus infinity is a weight of zero.
        epsilon: Entropic regularisation.
        iterations: Number of iterations. About log2(largest cost / epsilon) of them
            use larger epsilons, which speeds up convergence.

    Examples:
        >>> import jax.numpy as jnp
        >>> cost = jnp.array([[0.0, 1.0], [1.0, 0.0]])
        >>> weights = jnp.array([0.75, 0.25])
        >>> transport_plan(cost, jnp.log(weights), epsilon=0.02, iterations=30).round(2)
        Array([[0.5 , 0.25], [0.  , 0.25]], dtype=float32)
    """
    log_weights = log_weights - jax.nn.logsumexp(log_weights)
    log_equal = -jnp.log(len(cost))

    def potentials(columns: Array, epsilon: Array) -> tuple[Array, Array]:
        rows = log_equal + (columns[None, :] - cost) / epsilon
        rows = -epsilon * jax.nn.logsumexp(rows, axis=1)
        columns = log_weights[:, None] + (rows[:, None] - cost) / epsilon
        return rows, -epsilon * jax.nn.logsumexp(columns, axis=0)

    @partial(jax.checkpoint, prevent_cse=False)
    def iterate(columns: Array, epsilon: Array) -> tuple[Array, None]:
        return potentials(columns, epsilon)[1], None

    cooling = _COOLING ** jnp.arange(iterations - 1, dtype=cost.dtype)
    epsilons = jnp.maximum(jnp.max(cost) * cooling, epsilon)
    columns, _ = jax.lax.scan(iterate, jnp.zeros_like(log_weights), epsilons)
    rows, columns = potentials(columns, jnp.asarray(epsilon, cost.dtype))
    exponents = (rows[:, None] + columns[None, :] - cost) / epsilon
    return jnp.exp(log_weights[:, None] + log_equal + exponents)


def relative_cost(
    offsets: Float[Array, "K Nx"], counted: Bool[Array, "K"]
) -> Float[Array, "K K"]:
    """Half the squared distances, in units of the spread of the particles.

    The spread is that of Corenflos et al.: sqrt(Nx) times the largest standard
    deviation of a coordinate, of equally weighted particles.
    """
    variance = _mean((offsets - _mean(offsets, counted)) ** 2, counted)
    spread = offsets.shape[1] * jnp.max(variance)
    distances = jnp.sum((offsets[:, None] - offsets[None, :]) ** 2, axis=-1)
    return distances / (2 * jnp.where(spread > 0, spread, 1))


def _moved(
    offsets: Array,
    living: Array,
    log_weights: Array,
    *,
    epsilon: float,
    iterations: int,
) -> Array:
    cost = relative_cost(offsets, living)
    plan = transport_plan(cost, log_weights, epsilon=epsilon, iterations=iterations)
    return len(cost) * plan.T @ offsets


def _mean(values: Array, counted: Array) -> Array:
    """Mean of the counted rows; 0 if there are none."""
    total = jnp.sum(jnp.where(counted[:, None], values, 0), axis=0)
    return total / jnp.maximum(jnp.sum(counted), 1)
