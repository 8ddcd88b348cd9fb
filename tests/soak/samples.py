"""Saved fits of several kinds, by whatever solver `fitting` has."""

from pathlib import Path

import numpy as np
import pandas as pd

import graphgrad as gg


def rows(n: int = 24) -> np.ndarray:
    """A noisy turn of two states."""
    t = 0.3 * np.arange(n)
    noise = np.random.default_rng(0).standard_normal((n, 2))
    return np.stack([np.cos(t), np.sin(t)], axis=1) + 0.05 * noise


def saved_runs(folder: Path) -> list[Path]:
    """Folders of a flow with constraints, a map of dates with lags, and a panel."""
    y, u = rows(), np.sin(np.arange(24.0))[:, None]
    dated = pd.DataFrame(
        y, columns=["prey", "fox"], index=pd.date_range("2001", periods=24)
    )
    fits = {
        "flow": gg.GraphGrad(
            degree=2, dt=0.3, constraints=[gg.known("x1", "x2", -1.0)]
        ).fit(y),
        "dates": gg.GraphGrad(
            degree=1, dynamics="map", lags={"prey": 1}, seasons=12
        ).fit(dated),
        "panel": gg.GraphGrad(library=gg.Polynomial(3, 1), dynamics="difference").fit(
            [y, y[:12]], inputs=[u, u[:12]]
        ),
    }
    for name, fit in fits.items():
        fit.save(folder / name)
    return [folder / name for name in fits]
