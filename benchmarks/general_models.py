"""What the adaptive solver recovers from data as people have them.

`python benchmarks/general_models.py` prints a Markdown table: mean F1 of the support,
with its interval, on Lorenz 63 (dt 0.02, T = 200) with entries missing in some way.
`--rows NAME ...` runs some of the rows, `--realisations N` another number than 20.
"""

import argparse
from collections.abc import Callable

import jax
import numpy as np

import graphgrad as gg
from adaptive_recovery import draw, in_chunks, interval
from graphgrad.metrics import support_scores


def complete(_: np.random.Generator, ys: np.ndarray) -> np.ndarray:
    return ys


def at_random(rng: np.random.Generator, ys: np.ndarray) -> np.ndarray:
    """30 % of the entries, and a gap of 20 steps."""
    ys = np.where(rng.uniform(size=ys.shape) < 0.3, np.nan, ys)
    first = rng.integers(20, len(ys) - 40)
    ys[first : first + 20] = np.nan
    return ys


def seldom(_: np.random.Generator, ys: np.ndarray) -> np.ndarray:
    """x2 is seen at every third step only."""
    ys = ys.copy()
    ys[np.arange(len(ys)) % 3 != 0, 1] = np.nan
    return ys


ROWS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "complete": complete,
    "30 % missing and a gap of 20": at_random,
    "x2 at every third step": seldom,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", default=[""])
    parser.add_argument("--realisations", type=int, default=20)
    arguments = parser.parse_args()
    number = arguments.realisations
    print("| data | F1 | exact | F1, noise learnt |")
    print("|---|---|---|---|")
    with jax.enable_x64(True):
        system = gg.systems.lorenz63(dt=0.02)
        model, truth = system.model(), system.coefficients()
        _, ys, _ = draw(system, 200, number)
        keys = jax.random.split(jax.random.key(7), number)
        for name, hide in ROWS.items():
            if not any(name.startswith(start) for start in arguments.rows):
                continue
            rng = np.random.default_rng(0)
            seen = np.stack([hide(rng, y) for y in ys])
            scores = []
            for learn in ((), ("state_noise",)):

                def fit(model, key, y, learn=learn):
                    return gg.adaptive(key, y, model, learn=learn).coefficients

                found = in_chunks(fit, number, model, keys, seen)
                best = np.broadcast_to(truth, found.shape)
                scores.append(np.asarray(support_scores(found, best).f1))
            known, learnt = scores
            print(
                f"| {name} | {interval(known, 4)} | {np.mean(known == 1):.0%} | "
                f"{interval(learnt, 4)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
