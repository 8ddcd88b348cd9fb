"""Rows in chunks give what all rows at once do, with little memory for each row."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.engines import chunks
from graphgrad.engines.gaussian import GaussianSmoother
from graphgrad.engines.information import information
from graphgrad.solvers.adaptive.statistics import completed_sums

NOISES = ("state_noise", "observation_noise")


def _build(model):
    """The model of coefficients and logarithms of variances."""
    Nx = model.n_states

    def build(values):
        C, logs = values
        moved = model.with_coefficients(C)
        factors = jnp.exp(logs / 2)
        noises = (
            moved.transition.noise.times(factors[:Nx]),
            moved.observation.noise.times(factors[Nx:]),
        )
        return eqx.tree_at(
            lambda m: (m.transition.noise, m.observation.noise), moved, noises
        )

    return build


def _plain(dynamics: str):
    system = gg.systems.lorenz63(dt=0.02)
    model = system.model(dynamics=dynamics)
    ys = np.array(system.simulate(jax.random.key(0), steps=50).observations)
    ys[5:9] = np.nan
    ys[20, 1] = np.nan
    return model, ys


def _panel(dynamics: str):
    """Two series at irregular times, with an input and an uncertainty of each entry."""
    model = gg.state_space_model(
        gg.Polynomial(2, 2),
        np.array([[0.1, 0.8, 0.5, -0.1, 0.05, 0.0]]) - (dynamics == "flow"),
        state_noise=0.1,
        observation_noise=0.2,
        n_inputs=1,
        dynamics=dynamics,
        dt=0.1,
    )
    rng = np.random.default_rng(0)
    lengths = (23, 30)
    ys = [rng.normal(size=(n, 1)) for n in lengths]
    ys[0][4] = np.nan
    model, ys, _ = gg.arrange(
        model,
        ys,
        dt=0.1,
        times=[np.cumsum(rng.uniform(0.05, 0.2, n)) for n in lengths],
        inputs=[rng.normal(size=(n, 1)) for n in lengths],
        uncertainty=[rng.uniform(0.5, 2, (n, 1)) for n in lengths],
    )
    return model, ys


def _found(model, ys):
    ys = jnp.asarray(ys, float)
    states = jnp.where(jnp.isnan(ys), 0.3, ys)
    trajectory = jnp.concatenate([model.initial_mean[None], states])
    engine, key, build = GaussianSmoother(), jax.random.key(1), _build(model)
    Nx, M = model.coefficients.shape
    values = model.coefficients, jnp.zeros(Nx + ys.shape[1])
    active = jnp.broadcast_to(jnp.arange(M), (Nx, M))

    def everything(values):
        sweep, score = engine.scored_sweep(key, build, values, ys, trajectory)
        return (
            sweep,
            score,
            engine.sweep(key, model, ys, trajectory),
            engine.log_likelihood(model, ys, trajectory),
            information(model, ys, trajectory, active, noise=NOISES),
            information(model, ys, trajectory, active),
            information(model, ys, trajectory, active, joint=False),
            completed_sums(sweep, model, engine),
        )

    return jax.jit(everything)(values)


@pytest.mark.slow
@pytest.mark.parametrize("case", [_plain, _panel])
@pytest.mark.parametrize("dynamics", ["map", "flow"])
def test_chunks_change_nothing(monkeypatch, x64, case, dynamics):
    del x64
    model, ys = case(dynamics)
    whole = _found(model, ys)
    monkeypatch.setattr(chunks, "CHUNK", 16)  # some rows are left over
    monkeypatch.setattr(chunks, "LONGEST", 20)
    for one, other in zip(
        jax.tree.leaves(_found(model, ys)), jax.tree.leaves(whole), strict=True
    ):
        size = float(jnp.max(jnp.abs(other)))
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10 * size)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("rows", [20, 48, 53])
def test_chunks_are_scanned_in_order(monkeypatch, rows, reverse):
    monkeypatch.setattr(chunks, "CHUNK", 16)
    monkeypatch.setattr(chunks, "LONGEST", 20)

    def step(total, part):
        sums = jnp.cumsum(part[::-1])[::-1] if reverse else jnp.cumsum(part)
        return total + jnp.sum(part), total + sums

    values = jnp.arange(float(rows))
    total, sums = chunks.scan_chunks(step, jnp.zeros(()), values, reverse=reverse)
    expected = np.arange(rows)
    expected = np.cumsum(expected[::-1])[::-1] if reverse else np.cumsum(expected)
    assert total == rows * (rows - 1) / 2
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.slow
@pytest.mark.parametrize("dynamics", ["map", "flow"])
def test_memory_for_a_row_of_a_long_series_is_small(x64, dynamics):
    """Bytes, beside arguments and results; all rows at once take 1300 to 5400."""
    del x64
    rows = 131_072
    model = gg.systems.lorenz63(dt=0.02).model(dynamics=dynamics)
    ys, trajectory = (
        jax.ShapeDtypeStruct((n, 3), jnp.zeros(()).dtype) for n in (rows, rows + 1)
    )
    values, engine = (model.coefficients, jnp.zeros(6)), GaussianSmoother()
    active = jnp.broadcast_to(jnp.arange(10), (3, 10))

    def score(values, ys, trajectory):
        key, build = jax.random.key(1), _build(model)
        return engine.scored_sweep(key, build, values, ys, trajectory)

    def known(values, ys, trajectory):
        built = _build(model)(values)
        return information(built, ys, trajectory, active, noise=NOISES)

    def sums(values, ys, trajectory):
        sweep, _ = score(values, ys, trajectory)
        return completed_sums(sweep, _build(model)(values), engine)

    for function, most in ((score, 300), (known, 150), (sums, 900)):
        program = jax.jit(function).lower(values, ys, trajectory).compile()
        memory = program.memory_analysis()
        assert memory is not None
        assert memory.temp_size_in_bytes < most * rows, (function, dynamics)
