"""Processes that a measured input drives with a delay."""

from ..checks import check_at_least
from ..estimator import GraphGrad


def driven_process(
    output: str = "x",
    drive: str = "u1",
    *,
    delay: int = 5,
    memory: int = 2,
    degree: int = 1,
    dt: float | None = None,
) -> GraphGrad:
    """An output that a measured input drives with a delay, in steps of equal length.

    output[t+1] is a polynomial of the last values of the output and of the input, whose
    terms are selected, so that the delay is found. `fit` takes the output, and the
    input as `inputs`: row t of it belongs to row t of the output.

    Args:
        output: Name of the column.
        drive: Name of the input; those of an array are called u1, u2, ...
        delay: Longest delay of the input, in steps.
        memory: Number of values of the output that may act on the next one: 1 for an
            exponential response, 2 for one that oscillates or has two rates.
        degree: Highest degree of the terms; 1 for a linear response.
        dt: Interval between rows; the times of the data if None.

    Examples:
        >>> model = driven_process("co2", "gas", delay=6)
        >>> model.lags
        {'co2': 1, 'gas': 6}
    """
    remedy = "It is a number of steps."
    delay = check_at_least("delay", delay, 1, remedy)
    memory = check_at_least("memory", memory, 1, remedy)
    if output == drive:
        raise ValueError(
            f"`drive` must differ from `output`, got {drive!r}. Name the input."
        )
    return GraphGrad(
        degree,
        dt=dt,
        states=(output,),
        lags={output: memory - 1, drive: delay},
        dynamics="map",
    )
