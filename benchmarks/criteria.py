"""Criteria compared on maps: `python benchmarks/criteria.py [--draws 16] [NAME ...]`.

Euler data with all states observed, both noises learnt. For each system and criterion:
share of fits with exactly the right terms, wrong and `converged`, right and
`converged`; share of fits in which the truth is the fit or one of its alternatives;
mean number of alternatives and mean weight on the truth. Prints a Markdown table.
"""

import argparse

import jax
import numpy as np

import graphgrad as gg

CRITERIA = ("ebic", "ebic-by-degree", "beta-binomial")
SYSTEMS = gg.systems
# System, steps, degree. The first four were looked at while the solver was written.
ROWS = {
    "lotka_volterra": (SYSTEMS.lotka_volterra(), 100, 2),
    "lorenz63": (SYSTEMS.lorenz63(), 50, 2),
    "lorenz63-d3": (SYSTEMS.lorenz63(), 25, 3),
    "brusselator": (SYSTEMS.brusselator(), 200, 3),
    "fitzhugh_nagumo": (SYSTEMS.fitzhugh_nagumo(dt=0.2), 300, 3),
    "rossler": (SYSTEMS.rossler(dt=0.05), 300, 2),
    "lorenz63-short": (SYSTEMS.lorenz63(dt=0.02), 25, 2),
    "rabinovich_fabrikant": (SYSTEMS.rabinovich_fabrikant(), 200, 3),
    "sir": (SYSTEMS.sir(), 200, 2),
    "seir": (SYSTEMS.seir(), 200, 2),
    "oregonator": (SYSTEMS.oregonator(), 200, 2),
}
LEARN = ("state_noise", "observation_noise")


def measure(name: str, criterion: str, draws: int) -> np.ndarray:
    """Means of the columns of the table."""
    system, steps, degree = ROWS[name]
    truth = np.asarray(system.coefficients(degree, dynamics="map")) != 0
    rows = []
    for i in range(draws):
        key = jax.random.fold_in(jax.random.key(77), i)
        drawn = system.simulate(
            key, steps=steps, scheme="euler", bounded=True, max_redraws=100_000
        )
        initial = drawn.states[0] if system.spin_up else None
        model = system.model(degree, dynamics="map", initial=initial)
        found = gg.adaptive(
            jax.random.key(0),
            np.asarray(drawn.observations),
            model,
            learn=LEARN,
            criterion=criterion,
        )
        first = np.asarray(found.coefficients)[None]
        others = np.asarray(found.alternative_coefficients)
        right = ((np.concatenate([first, others]) != 0) == truth).all(axis=(1, 2))
        sure = found.outcome is gg.Outcome.converged
        support = first[0] != 0
        overlap = 2 * np.sum(support & truth) / (np.sum(support) + np.sum(truth))
        rows.append(
            [
                overlap,
                right[0],
                sure and not right[0],
                sure and right[0],
                right.any(),
                len(others),
                found.weights[right].sum(),
            ]
        )
    return np.mean(np.array(rows, float), axis=0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(ROWS), metavar="NAME")
    parser.add_argument("--draws", type=int, default=16)
    options = parser.parse_args()
    print(
        "| system | criterion | F1 | right | wrong and converged | right and converged "
        "| truth among | alternatives | weight on truth |\n|---|---|" + 7 * "---|"
    )
    with jax.enable_x64(True):
        for name in options.names:
            for criterion in CRITERIA:
                found = measure(name, criterion, options.draws)
                cells = [f"{value:.2f}" for value in found]
                cells[5] = f"{found[5]:.1f}"
                print(
                    f"| {name} | {criterion} | " + " | ".join(cells) + " |", flush=True
                )


if __name__ == "__main__":
    main()
