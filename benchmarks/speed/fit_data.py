"""Simulate the series of one case into a file: `fit_data '<case as JSON>' FILE`.

A process of its own, so that the process that fits has compiled nothing before.
"""

import json
import sys

import jax
import numpy as np

import graphgrad as gg


def main() -> None:
    case = json.loads(sys.argv[1])
    dynamics, dt = case["dynamics"], case["dt"]
    if case["system"] == "Lorenz 63":
        system = gg.systems.lorenz63(dt=dt)
    else:
        system = gg.systems.lorenz96(n_states=case["states"], dt=dt)
    simulation = system.simulate(
        jax.random.key(0),
        steps=case["steps"] + 1,
        scheme="euler" if dynamics == "map" else "flow",
    )
    np.savez(
        sys.argv[2],
        ys=np.asarray(simulation.observations, float),
        truth=system.coefficients(case["degree"], dynamics=dynamics),
    )


if __name__ == "__main__":
    main()
