"""A loop whose length is known at run time only."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graphgrad.model.repeat import repeat


def _step(carry, number, values):
    x, total = carry
    return jnp.sin(values["a"] * x + number), total + x * values["a"]


def _looped(a, x, times):
    return repeat(_step, (x, jnp.zeros(())), {"a": a, "label": None}, times, 8)


def _unrolled(a, x, times):
    carry = x, jnp.zeros(())
    for number in range(times):
        carry = _step(carry, number, {"a": a})
    return carry


@pytest.mark.parametrize("times", [0, 1, 5, 8])
@pytest.mark.parametrize("output", [0, 1])
def test_value_and_derivatives_are_those_of_the_unrolled_loop(times, output):
    at = jnp.array(0.7), jnp.array(0.3)

    def derivatives(loop, number):
        return jax.value_and_grad(lambda a, x: loop(a, x, number)[output], (0, 1))(*at)

    found = jax.jit(lambda n: derivatives(_looped, n))(jnp.asarray(times))
    expected = derivatives(_unrolled, times)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-4, atol=1e-6)


def test_many_at_once():
    a, x = jnp.linspace(0.5, 1.0, 4), jnp.linspace(0.0, 1.0, 4)
    slopes = jax.vmap(jax.grad(lambda a, x: _looped(a, x, jnp.asarray(3))[1]), (0, 0))(
        a, x
    )
    one = [jax.grad(lambda a, x: _unrolled(a, x, 3)[1])(a[i], x[i]) for i in range(4)]
    np.testing.assert_allclose(slopes, np.stack(one), rtol=1e-4)
