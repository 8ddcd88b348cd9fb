"""When the likelihood vanishes: Sec. V-B, 200 systems, single precision."""

from ..plan import Cell, Study
from ..printed import printed

STUDIES = (
    Study(
        name="lorenz63-degeneracy",
        title="Lorenz 63: steps before the likelihood vanishes, single precision",
        cells=tuple(
            Cell(
                f"K={K}",
                K,
                "lorenz63_unscaled",
                {"dt": 0.025},
                steps=200,
                settings={"particles": K},
            )
            for K in (5, 10, 20, 50, 100, 250, 500, 1000)
        ),
        methods=("plain-filter", "log-filter", "plain-filter-true", "log-filter-true"),
        metrics=("steps", "steps_product"),
        paper=printed("lorenz63-degeneracy"),
        chunk=200,
        axis="K",
        remarks=(),
    ),
)
