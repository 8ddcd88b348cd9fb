"""The adaptive solver with its two engines, on the same data."""

from ..plan import Cell, Study
from ..wording import RECOVERY

STUDIES = (
    Study(
        name="lorenz63-engines",
        title="Lorenz 63: the adaptive solver by engine, dt = 0.02",
        cells=tuple(
            Cell(f"T={T}", T, "lorenz63", {"dt": 0.02}, steps=T) for T in (25, 50, 100)
        ),
        methods=("adaptive", "adaptive-particle", "support-known"),
        metrics=tuple(m for m in RECOVERY if m != "degenerate"),
        most={"adaptive-particle": 20},
        chunk=2,
        remarks=(
            "adaptive infers the trajectory with the extended Kalman smoother, "
            "adaptive-particle with 100 particles and backward simulation, which takes "
            "many times as long and is run on at most 20 realisations. support-known "
            "is maximum likelihood with known support.",
        ),
    ),
)
