"""The graphs of the paper's figures: Lorenz 63 and Lorenz 96."""

from ..plan import Cell, Study
from ..printed import printed
from ..wording import STATED, as_printed

LINKS = ("links", "links_wrong", "links_missed", "links_invented", "f1")
FIRST = (
    "The figure shows the first realisation. Blue links have the right terms, red ones "
    "wrong terms; missed ones are dashed. The table shows means."
)


def _study(name: str, title: str, cell: Cell, *, paper=None, most: int) -> Study:
    steps = cell.settings.get("steps", 100)
    return Study(
        name=name,
        title=title,
        cells=(cell,),
        methods=("adaptive", "b-graphgrad"),
        metrics=LINKS,
        paper=paper or {},
        most={"b-graphgrad": most},
        chunk=2,
        figure="graphs",
        keep_coefficients=True,
        remarks=(
            FIRST,
            as_printed(STATED, steps=steps, most=most),
        ),
    )


STUDIES = (
    _study(
        "lorenz63-graph",
        "The graph of Lorenz 63",
        Cell("T=100", 100, "lorenz63", {"dt": 0.02}),
        most=20,
    ),
    _study(
        "lorenz96-graph",
        "The graph of Lorenz 96, 20 states",
        Cell(
            "T=200",
            200,
            "lorenz96",
            {"dt": 0.025},
            steps=200,
            settings={"steps": 20},
        ),
        paper=printed("lorenz96-graph"),
        most=2,
    ),
    _study(
        "lorenz96-graph-small",
        "The graph of Lorenz 96, 6 states",
        Cell("T=200", 200, "lorenz96", {"dt": 0.01, "n_states": 6}, steps=200),
        most=4,
    ),
)
