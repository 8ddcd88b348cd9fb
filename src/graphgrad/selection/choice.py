"""Other ways to choose: a path of whole fits, held-out data, the degree.

The adaptive solver selects terms by itself; these compare whole fits. The synthetic
twin of the paper works with it, too: give `tune_on_twin` the fit
`lambda *a: adaptive(*a[:3], weight=a[3]).coefficients`.
"""

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .. import registries
from ..checks import check_choice
from ..compiling import compiled
from ..deprecation import renamed
from ..engines import choose_engine
from ..model import StateSpaceModel, checked_series, whole_series
from ..solution import Solution
from ..solvers.adaptive import adaptive
from ..solvers.adaptive.unknowns import fitted

SELECTIONS: MutableMapping[str, Callable[..., "Choice"]] = registries.SELECTIONS
"""Ways to compare fits by name: each takes key, ys, model, penalties, the share of the
series that is its beginning, and options of `adaptive`."""


class Choice(NamedTuple):
    """What was compared, and the best of it.

    Attributes:
        best: Number of the best.
        values: What was tried: penalties, degrees, or names of models.
        scores: Their scores; lower is better.
        solution: The best fit, on the whole series.
    """

    best: int
    values: tuple[Any, ...]
    scores: Float[np.ndarray, "tried"]
    solution: Solution


def fit_path(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    penalties: Iterable[float] | None = None,
    **options: Any,
) -> Solution:
    """Whole fits at several penalties in one call, on the same draws.

    Args:
        key: Random key, the same for all.
        ys: Observations.
        model: As for `adaptive`.
        penalties: Of a term, as multiples of the criterion's.
        **options: Further ones of `adaptive`.

    Returns:
        A solution whose arrays have one more axis in front.
    """
    if "weights" in options:
        renamed("fit_path(weights=...)", "fit_path(penalties=...)", until="0.3.0")
        penalties = options.pop("weights")
    if penalties is None:
        raise ValueError(
            "`penalties` must be given, got None. Give multiples of the criterion's "
            "penalty, such as (0.5, 1.0, 2.0)."
        )
    ys = checked_series(ys, model, least=3)

    def fit(penalty: Array) -> Solution:
        return adaptive(key, ys, model, weight=penalty, **options)

    many = compiled(eqx.filter_vmap(fit))
    return many(jnp.asarray(list(penalties), model.initial_mean.dtype))


def choose_penalty(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    *,
    penalties: Iterable[float] = (0.25, 0.5, 1.0, 2.0, 4.0),
    by: str = "held-out",
    share: float = 0.8,
    learn: tuple[str, ...] = (),
    engine: Any = "auto",
    **options: Any,
) -> Choice:
    """The penalty of a term whose fit does best.

    Args:
        key: Random key.
        ys: Observations.
        model: As for `adaptive`.
        penalties: What to try, as multiples of the criterion's penalty.
        by: `"ebic"`, or `"held-out"` for the log-likelihood of one-step predictions of
            the end of the series by fits to its beginning.
        share: Share of the series that is its beginning.
        learn: As for `adaptive`.
        engine: As for `adaptive`.
        **options: Further ones of `adaptive`.
    """
    check_choice("by", by, SELECTIONS)
    tried = tuple(float(penalty) for penalty in penalties)
    return SELECTIONS[by](
        *(key, ys, model, tried, share),
        {"learn": learn, "engine": engine, **options},
    )


def choose_weight(*arguments: Any, **options: Any) -> Choice:
    """The old name of `choose_penalty`, whose `penalties` were `weights`."""
    renamed("choose_weight", "choose_penalty", until="0.3.0")
    if "weights" in options:
        options["penalties"] = options.pop("weights")
    return choose_penalty(*arguments, **options)


def by_ebic(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    penalties: tuple[float, ...],
    share: float,  # noqa: ARG001
    options: dict[str, Any],
) -> Choice:
    """The penalty whose fit has the lowest extended BIC."""
    ys = checked_series(ys, model, least=3)
    fits = fit_path(key, ys, model, penalties, **options)
    # All by the criterion as it is, whatever penalty each was searched at.
    scores = np.asarray(fits.unweighted_criterion)
    best = int(np.argmin(scores))
    chosen = jax.tree.map(lambda leaf: leaf[best], fits)
    return Choice(best, penalties, scores, chosen)


def by_held_out(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    penalties: tuple[float, ...],
    share: float,
    options: dict[str, Any],
) -> Choice:
    """The penalty whose fit to a share of the series predicts the rest best."""
    ys = whole_series(ys, model, "held-out data", least=3)
    first = round(share * len(ys))
    if not 3 <= first < len(ys):
        raise ValueError(
            f"`share` must leave rows on both sides, got {share} of {len(ys)} rows. "
            "Give a share such as 0.8."
        )
    fits = fit_path(key, ys[:first], model, penalties, **options)
    inferring, _ = choose_engine(options["engine"], model)

    def held_out(fit: Solution) -> Array:
        end = fitted(model, fit, options["learn"])
        whole = inferring.sweep(key, end, jnp.asarray(ys)).log_likelihood
        return inferring.sweep(key, end, jnp.asarray(ys[:first])).log_likelihood - (
            whole
        )

    scores = np.asarray(compiled(eqx.filter_vmap(held_out))(fits))
    best = int(np.nanargmin(scores))
    chosen = adaptive(key, ys, model, weight=penalties[best], **options)
    return Choice(best, penalties, scores, chosen)


def choose_model(
    key: PRNGKeyArray, ys: Any, models: Mapping[Any, StateSpaceModel], **options: Any
) -> Choice:
    """The model whose fit has the lowest extended BIC.

    For instance with several noise distributions, or degrees of freedom of one of them:
    `{df: state_space_model(library, state_noise=StudentT(0.1, df)) for df in (2, 4)}`.

    Args:
        key: Random key.
        ys: Observations.
        models: What to try, by names or numbers.
        **options: Of `adaptive`.
    """
    if not models:
        raise ValueError(
            "`models` must hold at least one model, got none. Give them by name."
        )
    fits = [adaptive(key, ys, model, **options) for model in models.values()]
    scores = np.asarray([float(fit.criterion) for fit in fits])
    best = int(np.argmin(scores))
    return Choice(best, tuple(models), scores, fits[best])


def choose_degree(
    key: PRNGKeyArray,
    ys: Any,
    model_of: Callable[[int], StateSpaceModel],
    *,
    degrees: Iterable[int] = (1, 2, 3),
    **options: Any,
) -> Choice:
    """The degree whose fit has the lowest extended BIC.

    Args:
        key: Random key.
        ys: Observations.
        model_of: From a degree to the model; for instance
            `lambda d: state_space_model(Polynomial(3, d), ...)`.
        degrees: Degrees to try.
        **options: Of `adaptive`.
    """
    models = {float(degree): model_of(degree) for degree in degrees}
    return choose_model(key, ys, models, **options)
