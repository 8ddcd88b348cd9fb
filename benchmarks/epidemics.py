"""Coverage of the rates of simulated epidemics: `python benchmarks/epidemics.py 10`.

A population of 1000, infection 1.6 and recovery 0.4 a day, five infected at first; on
16 days those infected are counted, with Poisson or with overdispersed errors.
"""

import sys
import time

import numpy as np
from scipy.integrate import solve_ivp

import graphgrad as gg

POPULATION, INFECTION, RECOVERY, DAYS = 1000, 1.6, 0.4, 16
TRUE = np.array([INFECTION, RECOVERY])


def counts(seed: int, size: float | None) -> np.ndarray:
    def rate(_: float, x: np.ndarray) -> list[float]:
        new = INFECTION * x[0] * x[1]
        return [-new, new - RECOVERY * x[1]]

    days = np.arange(1, DAYS + 1)
    path = solve_ivp(rate, (0, DAYS), [0.995, 0.005], t_eval=days, rtol=1e-8).y[1]
    rng = np.random.default_rng(seed)
    mean = POPULATION * path
    if size is not None:
        mean = mean * rng.gamma(size, 1 / size, DAYS)
    return rng.poisson(mean).astype(float)[:, None]


def main(seeds: int) -> None:
    for size, noise in ((30.0, "learn"), (None, "learn"), (None, gg.Poisson())):
        inside, found, outcomes, begin = [], [], [], time.process_time()
        for seed in range(seeds):
            model = gg.models.sir(POPULATION, observation_noise=noise)
            model.fit(counts(seed, size))
            places = ([1, 2], [model.terms_.index("S I"), model.terms_.index("I")])
            ends = model.confidence_intervals(0.9)[places]
            inside.append((ends[:, 0] <= TRUE) & (ends[:, 1] >= TRUE))
            found.append(model.coef_[places])
            outcomes.append(model.outcome_)
        what = "Poisson" if size is None else f"negative binomial, size {size:g}"
        print(
            f"{what} counts, noise {noise}: infection and recovery in 90 % intervals "
            f"{np.sum(inside, axis=0).tolist()} of {seeds}; medians "
            f"{np.median(found, axis=0).round(3).tolist()}; "
            f"{outcomes.count('converged')} converged; "
            f"{time.process_time() - begin:.0f} s of CPU",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
