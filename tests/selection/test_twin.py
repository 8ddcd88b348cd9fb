"""The penalty's weight from the synthetic twin: Sec. V-A."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.selection import twin_scores
from graphgrad.selection.twin import support_accuracy

SIZE = {"n_states": 2, "degree": 1, "dt": 0.1}


def shrunk_truth(key, ys, model, weight):
    """A fit that keeps what is larger than noise, if the weight is right.

    Its accuracy rises with the weight as small false terms go, and falls as true
    ones do, as that of a real fit does; it costs nothing.
    """
    noise = 0.02 * jax.random.normal(key, model.coefficients.shape)
    return gg.L1(weight).prox(model.coefficients + noise, 1.0)


@pytest.mark.slow
def test_the_search_finds_the_top_of_a_fine_grid():
    key = jax.random.key(0)
    tuning = gg.tune_on_twin(key, shrunk_truth, twins=4, steps=20, **SIZE)
    scores = twin_scores(key, shrunk_truth, twins=4, steps=20, **SIZE)
    grid = np.asarray(scores(jnp.linspace(-5, 2, 71)))
    assert tuning.scores.max() >= grid.max() - 1e-6
    assert grid.max() > max(grid[0], grid[-1]) + 0.05  # the ends are worse
    assert len(tuning.exponents) == 21
    assert (np.abs(tuning.exponents - -1.5) <= 3.5).all()


def test_same_key_same_search():
    first = gg.tune_on_twin(jax.random.key(3), shrunk_truth, steps=20, **SIZE)
    again = gg.tune_on_twin(jax.random.key(3), shrunk_truth, steps=20, **SIZE)
    assert first.penalty == again.penalty
    assert (first.exponents == again.exponents).all()


@pytest.mark.slow
def test_b_graphgrad_is_tuned_to_within_noise_of_the_best_of_a_grid():
    """The noise is the spread of the accuracy over fits with other keys."""
    settings = gg.GradientSteps(
        100, learning_rate=5e-3, particle_filter=gg.ParticleFilter(30)
    )

    def fit(key, ys, model, weight):
        solution = gg.b_graphgrad(
            key,
            ys,
            model,
            gg.L1(weight),
            settings=settings,
            batching=gg.FixedNumber(2),
        )
        return solution.coefficients

    key = jax.random.key(1)
    options = {"steps": 30, "start": [1.0, -1.0], "twins": 2}
    seen = []
    tuning = gg.tune_on_twin(
        key, fit, iterations=5, callback=lambda *a: seen.append(a), **SIZE, **options
    )
    # In pairs, as the search does: the same program.
    exponents = jnp.linspace(-5, 2, 14)
    scores = twin_scores(key, fit, **SIZE, **options)
    grid = np.concatenate([scores(pair) for pair in exponents.reshape(7, 2)])
    # The same weight on the same twins, with other draws of the particles.
    best = exponents[grid.argmax()][None]

    @jax.vmap
    def redrawn(seed):
        def refit(key, *rest):
            return fit(jax.random.fold_in(key, seed), *rest)

        return twin_scores(key, refit, **SIZE, **options)(best)[0]

    others = redrawn(jnp.arange(4))
    assert tuning.scores.max() >= grid.max() - 2 * np.std(others) - 1e-6
    assert [number for number, _, _ in seen] == [1, 2, 3, 4, 5]


def test_accuracy_is_the_share_of_right_decisions():
    estimate = jnp.array([[0.0, 1.0], [2.0, 0.0]])
    truth = jnp.array([[0.0, 1.0], [0.0, 3.0]])
    assert support_accuracy(estimate, truth) == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "`iterations` must be a whole number of at least 1"),
        ({"twins": 0}, "`twins` must be a whole number of at least 1"),
        ({"interval": (2.0, -5.0)}, "`interval` must have its lower end first"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        gg.tune_on_twin(jax.random.key(0), shrunk_truth, **SIZE, **options)
