"""Intervals of coefficients, given the terms and noises or with their uncertainty."""

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from scipy.special import stdtr, stdtrit

from ..checks import check_choice
from ..fits.record import Fit
from ..fits.rows import check_level, normal_band
from ..model import Arranged
from .choices import Choices
from .noise_uncertainty import noise_draws
from .uncertainty import coefficient_covariance

SOURCES = ("noise", "coefficients", "terms")
"""Sources of uncertainty of a coefficient; noise variances and terms on request."""

DRAWS = 200
"""Draws of noise variances whose mean is taken."""

FEW_TERMS = 16
"""Terms of an equation of which information costs little."""

HALVINGS = 100
"""Steps of the bisection: to the last digit."""


def coefficient_intervals(
    key: PRNGKeyArray, fit: Fit, level: float, sources: tuple[str, ...]
) -> Float[np.ndarray, "N M 2"]:
    """Central intervals of the coefficients of a fit.

    Args:
        key: Random key of draws of noise variances.
        fit: The fit.
        level: Probability of an interval.
        sources: Sources of uncertainty, from `SOURCES`.
    """
    for source in sources:
        check_choice("sources", source, SOURCES)
    shown, n = fit.shown, fit.n_present
    if not {"noise", "terms"} & set(sources):
        errors = shown.standard_errors * ("coefficients" in sources)
        return normal_band(shown.coefficients, errors, level)
    choices = Choices.of(fit)
    if "terms" not in sources:
        choices = choices.first()
    data, freedom = fit.data, np.full(choices.weights.shape, np.inf)
    if "noise" in sources:
        freedom = _freedom(fit, choices)
        if fit.noise_free:  # what the criterion drops may still be there
            data = noise_draws(key, fit, DRAWS).typical(data)
    errors = np.zeros_like(choices.coefficients)
    if "coefficients" in sources:
        errors = standard_errors_of(fit, choices, data)
    weights, freedom = (
        np.broadcast_to(each[..., None], errors.shape)
        for each in (choices.weights, freedom)
    )
    parts = weights, choices.coefficients, errors, freedom
    return mixture_band(*(each[:, :n] for each in parts), level)


def _freedom(fit: Fit, choices: Choices) -> Float[np.ndarray, "A Nx"]:
    """Degrees of freedom of the noise in each equation; infinite where it is known.

    Exact for states that are seen without noise: steps less terms.
    """
    learnt = fit.task.prepared.learn
    if not {"state_noise", "observation_noise"} & set(learnt):
        return np.full(choices.weights.shape, np.inf)
    steps = sum(len(series.values) - 1 for series in fit.panel.series)
    return np.maximum(steps - choices.present.sum(axis=-1), 1.0)


def standard_errors_of(
    fit: Fit, choices: Choices, data: Arranged
) -> Float[np.ndarray, "A Nx M"]:
    """Standard errors given each choice of terms, zero where none is estimated.

    Those of an alternative come from the information at its coefficients, along the
    states of the fit.

    Args:
        fit: The fit.
        choices: The choices.
        data: The rows, with the model whose noises are taken.
    """
    errors = np.zeros_like(choices.coefficients)
    errors[0] = fit.standard_errors
    given = choices.present[0] & ~fit.estimated
    estimated = choices.present & ~given
    # As many terms of each equation for all choices, and for most fits: one program.
    width = max(int(estimated.sum(axis=-1).max()), min(FEW_TERMS, errors.shape[-1]))
    for number in range(int(data is fit.data), len(errors)):
        coefficients = jax.device_put(choices.coefficients[number])
        covariance = coefficient_covariance(
            data._replace(model=data.model.with_coefficients(coefficients)),
            fit.inferred.means,
            estimated[number],
            fit.task.linear_map,
            width=width,
        )
        errors[number, estimated[number]] = np.sqrt(np.diag(covariance).clip(min=0))
    return errors


def mixture_band(
    weights: Float[np.ndarray, "A *shape"],
    means: Float[np.ndarray, "A *shape"],
    deviations: Float[np.ndarray, "A *shape"],
    freedom: Float[np.ndarray, "A *shape"],
    level: float,
) -> Float[np.ndarray, "*shape 2"]:
    """Lower and upper ends of the central intervals of mixtures of t distributions.

    A distribution with a deviation of zero is an atom, on which an end may lie.

    Args:
        weights: Of each distribution, of sum one.
        means: Their means.
        deviations: Their scales: standard deviations, if normal.
        freedom: Their degrees of freedom; infinite for normal distributions.
        level: Probability of an interval, at least, where there are atoms.

    Examples:
        >>> import numpy as np
        >>> half = np.full((2, 1), 0.5)  # zero, or about 5: the ends are quantiles
        >>> mean, deviation = np.array([[0.0], [5.0]]), np.array([[0.0], [1.0]])
        >>> mixture_band(half, mean, deviation, np.full((2, 1), np.inf), 0.9)
        array([[0.        , 6.28155157]])
    """
    level = check_level(level)
    atoms = deviations == 0
    scale = np.where(atoms, 1.0, deviations)

    def below(x: np.ndarray, *, here: bool) -> np.ndarray:
        """Probability of less than x, or of at most x if `here`."""
        steps = (means <= x) if here else (means < x)
        share = stdtr(freedom, (x - means) / scale)
        return np.sum(weights * np.where(atoms, steps, share), axis=0)

    ends = []
    for share in (0.5 - level / 2, 0.5 + level / 2):
        # The quantile of a mixture is between those of what is mixed.
        quantiles = means + deviations * stdtrit(freedom, share)
        low, high = quantiles.min(axis=0), quantiles.max(axis=0)
        for _ in range(HALVINGS):
            middle = low + (high - low) / 2
            enough = below(middle, here=True) >= share
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        for atom, mean in zip(atoms, means, strict=True):
            on = atom & (below(mean, here=False) < share)
            high = np.where(on & (below(mean, here=True) >= share), mean, high)
        ends.append(high)
    return np.stack(ends, axis=-1)
