"""The settings of a published benchmark: Kaptanoglu et al. 2023, arXiv 2302.10787."""

from ..flow_systems import flow_systems
from ..plan import Cell, Study
from ..published import published
from .flows import shape

PUBLISHED = published("flows-published")
METHODS = ("flow", "stlsq-bic", "stlsq-truth", "weak-bic", "weak-truth")
NOISES = {"0 %": 0.0, "0.1 %": 0.001, "1 %": 0.01}


def _systems() -> list[str]:
    """By shape: systems of one shape share compiled programs."""
    return sorted(PUBLISHED["systems"], key=lambda n: (shape(flow_systems()[n]), n))


def _printed() -> dict[str, dict[str, tuple[float, ...]]]:
    return {
        row: {
            "near": tuple(count / PUBLISHED["of"] for count in counts),
            "spectral_error_median": tuple(PUBLISHED["median_error"][row]),
        }
        for row, counts in PUBLISHED["below_0.1"].items()
    }


STUDIES = (
    Study(
        name="flows-published",
        title="Flows of dysts in the settings of Kaptanoglu et al. 2023, degree 4",
        cells=tuple(
            Cell(
                f"{name} {column}",
                i,
                "flow",
                {"name": name, "points": 100, "rms": noise, "series": 5},
                steps=1000,
                degree=4,
                settings={"column": column},
            )
            for name in _systems()
            for i, (column, noise) in enumerate(NOISES.items())
        ),
        methods=METHODS,
        metrics=(
            "near",
            "spectral_error_median",
            "exact",
            "f1",
            "converged_wrong",
            "substeps",
            "no_process_noise",
            "fit_seconds_median",
        ),
        drawn=("near", "spectral_error_median"),
        paper=_printed(),
        printed_by="published",
        most=dict.fromkeys(METHODS, 1),
        chunk=1,
        axis="noise",
        figure="panels",
        panels={"noise in % of RMS": {c: 100 * v for c, v in NOISES.items()}},
        folder="flows",
        remarks=(
            "Five series of 1000 rows each, from points of the attractor ten periods "
            "apart, 100 rows per period, noise in per cent of the root mean square, "
            "all monomials up to degree 4 for every system. The error is that of the "
            "publication: the spectral norm of the difference divided by that of the "
            "truth.",
            "Published are shares of 70 systems and medians over them, with thresholds "
            "by AICc on separate series without noise, which are not available here; "
            "here is one draw of the noise.",
            f"Published: {PUBLISHED['source']}.",
            "Peers are PySINDy's; settings by BIC or by the truth as in `flows`.",
        ),
    ),
)
