"""Several starts side by side and their consensus: Sec. IV-C."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ...checks import check_at_least, check_choice, check_positive, check_shape
from ...model import StateSpaceModel, whole_series
from ...penalties import AbstractPenalty
from ...solution import Outcome, PaperSolution
from .algorithms import Callback, Progress, needs_map, random_start, run_group
from .batching import AbstractBatching, Telescoping, padded_lengths
from .steps import Batches, GradientSteps

NORMS = {
    "max": lambda differences: np.abs(differences).max(axis=(-2, -1)),
    "frobenius": lambda differences: np.linalg.norm(differences, axis=(-2, -1)),
    "spectral": lambda differences: np.linalg.norm(differences, 2, axis=(-2, -1)),
}


class MultiStart(NamedTuple):
    """What several starts found.

    Attributes:
        solution: The element-wise mean of the starts that agreed.
        members: Numbers of the starts that agreed.
        candidates: Coefficients of every start when batching ended.
        batches: Number of batches that were run, the last on the whole series.
        batches_in_all: Number that one start would have run.
    """

    solution: PaperSolution
    members: tuple[int, ...]
    candidates: np.ndarray
    batches: int
    batches_in_all: int


def consensus(
    candidates: np.ndarray, *, tolerance: float, norm: str, agreeing: int
) -> tuple[int, ...]:
    """The largest set of matrices found that are within a tolerance of a common one.

    The common ones tried are the means of each matrix's neighbourhood, so that the
    cost is quadratic in their number. Empty when no set has `agreeing` members.

    Examples:
        >>> import numpy as np
        >>> matrices = np.array([[[1.0]], [[1.02]], [[5.0]]])
        >>> consensus(matrices, tolerance=0.1, norm="max", agreeing=2)
        (0, 1)
        >>> consensus(matrices, tolerance=0.001, norm="max", agreeing=2)
        ()
    """
    size = NORMS[check_choice("norm", norm, NORMS)]
    best: tuple[int, ...] = ()
    for centre in candidates:
        near = size(candidates - centre) < tolerance
        if not near.any():
            continue
        members = size(candidates - candidates[near].mean(axis=0)) < tolerance
        if members.sum() > len(best):
            best = tuple(int(i) for i in np.flatnonzero(members))
    return best if len(best) >= agreeing else ()


def multistart(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    penalty: AbstractPenalty,
    *,
    starts: int = 8,
    first_batches: int = 1,
    tolerance: float = 0.05,
    norm: str = "max",
    agreeing: int | None = None,
    initial: Any = None,
    settings: GradientSteps | None = None,
    batching: AbstractBatching | None = None,
    callback: Callback | None = None,
) -> MultiStart:
    """B-GraphGrad from several starts, which stops batching once enough agree.

    All starts learn in parallel. After each batch, from the `first_batches`-th on,
    the largest subset is looked for whose members are within `tolerance` of a common
    matrix. Once it has `agreeing` members, these learn on the whole series, and the
    result is their element-wise mean.

    Args:
        key: Random key.
        ys: Observations, `(T, Ny)`.
        model: The model; its coefficients are ignored.
        penalty: The penalty.
        starts: Number of starts, P.
        first_batches: Batches before the first test, B_I.
        tolerance: The epsilon of the test.
        norm: `"max"` (largest entry), `"frobenius"` or `"spectral"`.
        agreeing: Size that the subset must have; more than half if not given.
        initial: Starts of shape `(P, Nx, M)` in place of random ones.
        settings: As for `b_graphgrad`.
        batching: As for `b_graphgrad`.
        callback: As for `b_graphgrad`, called for the start of highest likelihood.
    """
    starts = check_at_least("starts", starts, 2, "Consensus needs two.")
    first_batches = check_at_least("first_batches", first_batches, 1, "Try 1.")
    check_positive("tolerance", tolerance, "It is the epsilon of the test.")
    check_choice("norm", norm, NORMS)
    agreeing = check_at_least(
        "agreeing", starts // 2 + 1 if agreeing is None else agreeing, 2, "Try 2."
    )
    settings, batching = settings or GradientSteps(), batching or Telescoping()
    needs_map(model)
    ys = whole_series(ys, model, "several starts", least=2)
    lengths = batching.lengths(ys.shape[0])
    padded = padded_lengths(lengths)
    keys, beginning = eqx.filter_vmap(random_start, in_axes=(0, None))(
        jax.random.split(key, starts), model
    )
    if initial is not None:
        beginning = jnp.asarray(initial, beginning.dtype)
        check_shape("initial", beginning.shape, (starts, *beginning.shape[1:]), "P.")

    def learn(number: int, lanes: tuple[Any, Any, Any]):
        batches, judged = _run_starts(
            *lanes,
            ys,
            np.array([number], np.int32),
            np.array([lengths[number]], np.int32),
            build=model.with_coefficients,
            penalty=penalty,
            settings=settings,
            padded=padded[number],
        )
        if callback is not None:
            callback(_progress(batches, judged[0], number, lengths))
        return (lanes[0], batches.parameters, batches.optimiser_state), batches, judged

    lanes, judged = (keys, beginning, None), (np.zeros(starts), np.zeros(starts))
    members: tuple[int, ...] = ()
    ran: list[int] = []
    done: list[Batches] = []
    for number in range(len(lengths)):
        lanes, batches, judged = learn(number, lanes)
        ran.append(lengths[number])
        done.append(batches)
        if len(ran) >= first_batches:
            members = consensus(
                np.asarray(lanes[1]), tolerance=tolerance, norm=norm, agreeing=agreeing
            )
        if members:
            break
    candidates = np.asarray(lanes[1])
    kept = np.array(members or [int(np.argmax(judged[0]))])
    lanes, judged = jax.tree.map(lambda leaf: leaf[kept], (lanes, judged))
    if ran[-1] < lengths[-1]:
        # Enough starts agree: the rest is for them and the whole series.
        lanes, batches, judged = learn(len(lengths) - 1, lanes)
        ran.append(lengths[-1])
        done.append(batches)
    code = np.max(judged[1]) if members else np.int32(Outcome.no_consensus)
    solution = PaperSolution(
        coefficients=jnp.mean(lanes[1], axis=0),
        log_likelihood=jnp.mean(judged[0]),
        code=jnp.asarray(code),
        lengths=tuple(ran),
        log_likelihoods=tuple(batches.log_likelihoods for batches in done),
        path=tuple(batches.path for batches in done),
        skipped=tuple(batches.skipped for batches in done),
        start=beginning,
    )
    return MultiStart(solution, members, candidates, len(ran), len(lengths))


@eqx.filter_jit
def _run_starts(keys, parameters, state, ys, numbers, lengths, **options):
    def one(key, parameters, state):
        return run_group(key, parameters, state, ys, numbers, lengths, **options)

    return eqx.filter_vmap(one)(keys, parameters, state)


def _progress(
    batches: Batches, values: Any, number: int, lengths: tuple[int, ...]
) -> Progress:
    best = int(np.argmax(values))
    return Progress(
        batch=number + 1,
        batches=len(lengths),
        length=lengths[number],
        log_likelihood=float(values[best]),
        n_nonzero=int(np.count_nonzero(np.asarray(batches.parameters)[best])),
    )
