"""Predators and prey, and oscillators."""

from ..estimator import GraphGrad
from ..model import sign, velocity
from .structure import KEPT, only_terms


def predator_prey(
    prey: str = "prey",
    predator: str = "predator",
    *,
    limited: bool = False,
    dt: float | None = None,
) -> GraphGrad:
    """The equations of Lotka and Volterra, with both populations observed.

    dprey/dt = birth prey - hunting prey predator,
    dpredator/dt = -death predator + growth prey predator.

    Args:
        prey: Name of the first column.
        predator: Name of the second.
        limited: Whether the prey limits itself, by a term of prey^2.
        dt: Interval between rows; the times of the data if None.

    Examples:
        >>> predator_prey("hare", "lynx").states
        ('hare', 'lynx')
    """
    both = f"{prey} {predator}"
    signs = [
        sign(prey, prey, "+"),
        sign(prey, both, "-"),
        sign(predator, predator, "-"),
        sign(predator, both, "+"),
    ]
    if limited:
        signs.append(sign(prey, f"{prey}^2", "-"))
    states = (prey, predator)
    kept = {(part.target, part.term) for part in signs}
    return GraphGrad(
        2,
        dt=dt,
        states=states,
        penalty=KEPT,
        dynamics="flow",
        constraints=(*only_terms(states, 2, kept), *signs),
    )


def oscillator(
    position: str = "x",
    speed: str = "v",
    *,
    degree: int = 1,
    dt: float | None = None,
) -> GraphGrad:
    """An oscillator of which only positions are observed: dx/dt = v, dv/dt = f(x, v).

    Args:
        position: Name of the column.
        speed: Name of its derivative, which is not observed.
        degree: Highest degree of the terms of f, which are selected; 1 for a linear
            oscillator, 3 for that of Duffing.
        dt: Interval between rows; the times of the data if None.

    Examples:
        >>> oscillator("angle").states
        ('angle', 'v')
    """
    return GraphGrad(
        degree,
        dt=dt,
        states=(position, speed),
        observation=[position],
        dynamics="flow",
        constraints=(velocity(position, speed),),
    )
