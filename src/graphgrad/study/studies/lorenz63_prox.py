"""Proximal against subgradient steps: Sec. V-B, Lorenz 63, degree 2."""

from ..plan import Study
from ..printed import printed
from ..wording import BOUNDED, MOST, STABLE, TUNED, as_printed
from .lorenz63_length import cells


def _study(name: str, dt: float, remark: str) -> Study:
    return Study(
        name=name,
        title=f"Lorenz 63: proximal against subgradient steps, dt = {dt:g}",
        cells=cells(2, dt),
        methods=("b-graphgrad", "subgradient"),
        metrics=("recall", "rmse", "mean_abs_where_zero", "specificity", "degenerate"),
        paper=printed("lorenz63-prox"),
        most=MOST,
        chunk=5,
        remarks=(
            remark,
            as_printed(TUNED),
            "A subgradient step leaves no entry exactly at zero, so that its recall is "
            "1 and its specificity 0 by the threshold of 1e-6; the paper's caption "
            "announces the mean size of the entries that are zero.",
        ),
    )


STUDIES = (
    _study("lorenz63-prox", 0.025, BOUNDED),
    _study("lorenz63-prox-stable", 0.02, STABLE),
)
