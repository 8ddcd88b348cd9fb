"""Draw the data of `graphgrad demo`: `python docs/scripts/demo_data.py`."""

import csv

import jax
import numpy as np

from graphgrad.demo import demo_data, demo_system

STEPS = 200
SPIN_UP = 500
"""Steps after which the state is on the attractor."""
MISSING = 0.1
GAP = slice(90, 105)

if __name__ == "__main__":
    system = demo_system()
    with jax.enable_x64(True):
        path = system.simulate(jax.random.key(0), steps=SPIN_UP + STEPS, bounded=True)
    values = np.array(path.observations)[SPIN_UP:]
    values[np.random.default_rng(0).random(values.shape) < MISSING] = np.nan
    values[GAP] = np.nan
    with demo_data().open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["t", *system.states])
        for i, row in enumerate(values):
            cells = ["" if np.isnan(value) else f"{value:.3f}" for value in row]
            writer.writerow([f"{system.dt * (i + 1):.12g}", *cells])
