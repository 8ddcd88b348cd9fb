"""The paper's algorithms as printed: S-GraphGrad, B-GraphGrad, pMLE, TrueMLE."""

from collections.abc import Callable
from itertools import groupby
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray

from ...checks import check_finite, check_shape
from ...model import AbstractLibraryMean, StateSpaceModel, whole_series
from ...penalties import AbstractPenalty, Unpenalised
from ...solution import PaperSolution
from .batching import AbstractBatching, FixedNumber, Telescoping, padded_lengths
from .outcome import judge, relative_error
from .steps import Batches, GradientSteps, take_steps


class Progress(NamedTuple):
    """Argument of a callback, after each batch.

    Attributes:
        batch: Number of batches done.
        batches: Number of batches in all.
        length: Length of the batch just done.
        log_likelihood: Log-likelihood at its last step.
        n_nonzero: Number of coefficients that are not zero.
    """

    batch: int
    batches: int
    length: int
    log_likelihood: float
    n_nonzero: int


Callback = Callable[[Progress], None]


def s_graphgrad(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    penalty: AbstractPenalty,
    *,
    start: Any = None,
    settings: GradientSteps | None = None,
    callback: Callback | None = None,
) -> PaperSolution:
    """S-GraphGrad, Alg. 4: proximal gradient steps on the whole series at once.

    Arguments as for `b_graphgrad`.
    """
    return b_graphgrad(
        key,
        ys,
        model,
        penalty,
        start=start,
        settings=settings,
        batching=FixedNumber(1),
        callback=callback,
    )


def b_graphgrad(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    penalty: AbstractPenalty,
    *,
    start: Any = None,
    settings: GradientSteps | None = None,
    batching: AbstractBatching | None = None,
    callback: Callback | None = None,
) -> PaperSolution:
    """B-GraphGrad, Alg. 5: Alg. 4 on batches of growing length.

    Args:
        key: Random key; the same key gives the same result.
        ys: Observations, `(T, Ny)`.
        model: The model; its coefficients are ignored, everything else is used.
        penalty: What simple means, with its weight lambda.
        start: C_0; drawn from U(-1, 1) if not given, as in the paper.
        settings: How the coefficients move; `GradientSteps()` are the paper's.
        batching: Which batches; `Telescoping(10)` are the paper's.
        callback: Called with a `Progress` after each batch.

    Returns:
        The solution. Look at `solution.outcome` before you trust it.

    Examples:
        >>> import graphgrad as gg, jax
        >>> library = gg.Polynomial(n_states=1, degree=1)
        >>> true = gg.state_space_model(library, [[0.0, 0.8]], state_noise=0.1,
        ...                             observation_noise=0.1, initial_mean=[2.0])
        >>> _, ys, _ = gg.simulate(jax.random.key(0), true, steps=20)
        >>> solution = gg.b_graphgrad(jax.random.key(1), ys, true, gg.L1(1.0),
        ...                           settings=gg.GradientSteps(50))
        >>> solution.coefficients.shape, solution.lengths
        ((1, 2), (10, 20))
    """
    if start is None:
        key, start = random_start(key, model)
    elif not isinstance(start, Tracer):
        check_finite("start", start, "Give one row a state, one column a term.")
        shape = (model.library.n_states, model.library.n_terms)
        check_shape("start", np.shape(start), shape, "One row a state, column a term.")
        start = jnp.asarray(start, model.initial_mean.dtype)
    return fit_batches(
        key,
        ys,
        model.with_coefficients,
        start,
        penalty=penalty,
        settings=settings or GradientSteps(),
        batching=batching or Telescoping(),
        callback=callback,
    )


def pmle(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    penalty: AbstractPenalty | None = None,  # noqa: ARG001
    **options: Any,
) -> PaperSolution:
    """Polynomial maximum likelihood: B-GraphGrad without its proximal steps.

    Arguments as for `b_graphgrad`; the penalty has its place in the order of them,
    so that solvers can be exchanged, and is not used.
    """
    return b_graphgrad(key, ys, model, Unpenalised(), **options)


def true_mle(
    key: PRNGKeyArray,
    ys: Any,
    build: Callable[[Any], StateSpaceModel],
    start: Any,
    *,
    settings: GradientSteps | None = None,
    batching: AbstractBatching | None = None,
    callback: Callback | None = None,
) -> PaperSolution:
    """Maximum likelihood of the parameters of a model whose form is known.

    The oracle that the paper calls TrueMLE, on Kuramoto's eta and K.

    Args:
        key: Random key.
        ys: Observations, `(T, Ny)`.
        build: From a pytree of parameters to the model.
        start: Parameters to start from.
        settings: As for `b_graphgrad`.
        batching: As for `b_graphgrad`.
        callback: As for `b_graphgrad`.

    Returns:
        The solution, whose `coefficients` are the fitted parameters.
    """
    return fit_batches(
        key,
        ys,
        build,
        start,
        penalty=None,
        settings=settings or GradientSteps(),
        batching=batching or Telescoping(),
        callback=callback,
    )


def fit_batches(
    key: PRNGKeyArray,
    ys: Any,
    build: Callable[[Any], StateSpaceModel],
    start: Any,
    *,
    penalty: AbstractPenalty | None,
    settings: GradientSteps,
    batching: AbstractBatching,
    callback: Callback | None,
) -> PaperSolution:
    """The loop over batches that all solvers of the paper share."""
    needs_map(build(start))
    ys = whole_series(ys, build(start), "the paper's solvers", least=2)
    lengths = batching.lengths(ys.shape[0])
    plan = list(zip(range(len(lengths)), lengths, padded_lengths(lengths), strict=True))
    # Batches of one padded length go in one call, unless somebody watches.
    groups = [[item] for item in plan]
    if callback is None:
        groups = [list(group) for _, group in groupby(plan, key=lambda item: item[2])]
    done: list[Batches] = []
    parameters, state, judged = start, None, None
    for group in groups:
        numbers, used, padded = zip(*group, strict=True)
        batches, judged = run_group(
            key,
            parameters,
            state,
            ys,
            np.array(numbers, np.int32),
            np.array(used, np.int32),
            build=build,
            penalty=penalty,
            settings=settings,
            padded=padded[0],
        )
        parameters, state = batches.parameters, batches.optimiser_state
        done.append(batches)
        if callback is not None:
            callback(_progress(batches, group[-1], len(lengths)))
    assert judged is not None
    return PaperSolution(
        coefficients=parameters,
        log_likelihood=judged[0],
        code=judged[1],
        lengths=lengths,
        log_likelihoods=tuple(batches.log_likelihoods for batches in done),
        path=tuple(batches.path for batches in done),
        skipped=tuple(batches.skipped for batches in done),
        start=start,
    )


def needs_map(model: StateSpaceModel) -> None:
    """Say that the paper's solvers know no flows, if the model is one."""
    mean = model.transition.mean
    if isinstance(mean, AbstractLibraryMean) and mean.dynamics != "map":
        raise ValueError(
            f"`model` must be a map for the paper's solvers, got a {mean.dynamics}. "
            "Use `adaptive`, or build the model with `dynamics='map'`."
        )


@eqx.filter_jit
def run_group(
    key, parameters, state, ys, numbers, lengths, **options
) -> tuple[Batches, tuple[Array, Array]]:
    """Steps on batches of one padded length, and how things stand after them."""
    if state is None:
        settings = options["settings"]
        state = settings.optimiser(settings.learning_rate).init(parameters)
    batches = take_steps(key, parameters, state, ys, numbers, lengths, **options)
    model, rows = options["build"](batches.parameters), ys[: options["padded"]]
    result = options["settings"].particle_filter(key, model, rows, length=lengths[-1])
    return batches, judge(
        batches.log_likelihoods[-1],
        batches.skipped[-1],
        batches.parameters,
        relative_error(model, result, rows, lengths[-1]),
    )


@eqx.filter_jit
def random_start(
    key: PRNGKeyArray, model: StateSpaceModel
) -> tuple[PRNGKeyArray, Float[Array, "Nx M"]]:
    """A key for the fit, and C_0 from U(-1, 1): Alg. 5, line 4."""
    start_key, fit_key = jax.random.split(key)
    shape = (model.library.n_states, model.library.n_terms)
    dtype = model.initial_mean.dtype
    return fit_key, jax.random.uniform(start_key, shape, dtype, -1, 1)


def _progress(batches: Batches, item: tuple[int, int, int], total: int) -> Progress:
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(batches.parameters)]
    return Progress(
        batch=item[0] + 1,
        batches=total,
        length=item[1],
        log_likelihood=float(batches.log_likelihoods[-1, -1]),
        n_nonzero=sum(int(np.count_nonzero(leaf)) for leaf in leaves),
    )
