"""Compiled programs of a fit do not grow unnoticed: compilation is most of a first fit.

Numbers are those of the program that JAX gives to XLA, so they depend on neither the
options of XLA nor the machine. Where growth is worth it, store the new numbers.
"""

import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from helpers import CACHE, ROOT

STORED = {
    "programs": 22,
    "begin_fit": 1045,
    "anneal_starts": 2133,
    "ascend_once": 1986,
    "exchange_terms": 1974,
    "solution_at": 2238,
}
"""Programs of a fit, and operations of the main ones, with JAX 0.10.2."""

GROWTH = 1.2

FIT = """
import sys
import jax, numpy as np
import graphgrad as gg
system = gg.systems.lotka_volterra()
simulation = system.simulate(jax.random.key(0), steps=40, scheme="euler")
ys = np.asarray(simulation.observations)
jax.config.update("jax_dump_ir_to", sys.argv[1])
gg.GraphGrad(degree=2, dynamics="map").fit(ys)
"""


def operations(text: str) -> int:
    """Operations and calls in a program that JAX wrote down."""
    return len(re.findall(r'= (?:"?(?:stablehlo|chlo)\.|call @)', text))


@pytest.mark.slow
def test_programs_of_a_fit_are_no_larger_than_before(tmp_path):
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(CACHE),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.3",
    }
    command = [sys.executable, "-c", FIT, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    found = Counter(programs=len(list(tmp_path.iterdir())))
    for file in tmp_path.iterdir():
        name = re.sub(r"jax_ir\d+_jit_(.*)_compile", r"\1", file.stem)
        found[name] += operations(file.read_text())
    now = {name: found[name] for name in STORED}
    assert all(now.values()), f"Renamed, or not compiled: {now}"
    assert all(now[name] <= GROWTH * STORED[name] for name in STORED), str(now)
