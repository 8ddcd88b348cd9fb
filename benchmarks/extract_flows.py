"""Extracts the polynomial flows of `dysts` into a data file of the package.

    pip install "dysts==0.96" sympy
    python benchmarks/extract_flows.py

`dysts` is a collection of chaotic systems (Gilpin, Chaos as an interpretable benchmark,
2021, arXiv 2110.05266; Apache 2.0). The file has the flows of 2 to 4 states whose rates
are polynomials in the states only, with the parameters of `dysts`: 81 of 135. Each has
its coefficients, its period as estimated by `dysts`, and ten points of its attractor,
ten periods apart: the initial state of `dysts`, and points of its trajectory. (That of
PanXuZhou converges slowly to a fixed point.)

Studies read that file and simulate themselves, so that `dysts` is not a dependency.
"""

import inspect
import json
import math
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

HOME = Path(__file__).parent.parent
FILE = HOME / "src" / "graphgrad" / "study" / "flow_systems.json"
STATES = (2, 3, 4)
STARTS = 10
PERIODS = 10
"""Periods between two starts."""


def terms_of(flow: Any, names: list[str]) -> list[dict[tuple[int, ...], float]]:
    """Coefficients by powers, one table per state; ValueError if not polynomial."""
    import sympy

    states, time = sympy.symbols(names), sympy.Symbol("time")
    try:
        rates = flow.rhs(np.array(states), time)
        polynomials = [sympy.Poly(sympy.expand(rate), *states) for rate in rates]
    except (TypeError, AttributeError, sympy.PolynomialError) as error:
        raise ValueError(str(error)) from None
    if any(polynomial.free_symbols_in_domain for polynomial in polynomials):
        raise ValueError("it depends on time")
    return [
        {powers: float(value) for powers, value in one.terms() if value != 0}
        for one in polynomials
    ]


def names_of(flow: Any) -> list[str]:
    """Names of the states: those of the right-hand side, or numbered."""
    given = [*inspect.signature(flow._rhs).parameters][: flow.dimension]
    if len(given) == flow.dimension and "t" not in given:
        return given
    return [f"x{i}" for i in range(1, flow.dimension + 1)]


def check(flow: Any, tables: list[dict[tuple[int, ...], float]]) -> None:
    """Check the table against `dysts`, at points near the attractor."""
    rng = np.random.default_rng(0)
    points = flow.ic + rng.normal(size=(50, len(flow.ic))) * (1 + np.abs(flow.ic))
    for x in points:
        theirs = np.array(flow.rhs(x, 0.0), float)
        parts = [[c * np.prod(x**p) for p, c in one.items()] for one in tables]
        ours, size = ([f(part) for part in parts] for f in (math.fsum, _size))
        assert np.all(np.abs(ours - theirs) <= 1e-12 * np.array(size)), flow.name


def _size(parts: list[float]) -> float:
    return math.fsum(map(abs, parts)) or 1.0


def starts_of(flow: Any) -> np.ndarray:
    """Points of the attractor whose series of ten periods do not overlap."""
    times = flow.period * PERIODS * np.arange(STARTS)
    solution = solve_ivp(
        lambda t, x: np.array(flow.rhs(x, t), float),
        times[[0, -1]],
        flow.ic,
        method="LSODA",
        t_eval=times,
        rtol=1e-10,
        atol=1e-12,
    )
    assert solution.success, flow.name
    assert np.isfinite(solution.y).all(), flow.name
    return solution.y.T


def named(powers: tuple[int, ...], names: list[str]) -> str:
    """A monomial as `Polynomial` writes it: 1, x, x y, x^2."""
    parts = [
        name if power == 1 else f"{name}^{power}"
        for name, power in zip(names, powers, strict=True)
        if power
    ]
    return " ".join(parts) or "1"


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flows = import_module("dysts.flows")
        base = import_module("dysts.base")
    listed = sorted(json.loads(Path(base.DATAPATH_CONTINUOUS).read_text()))
    systems = {}
    for name in listed:
        flow = getattr(flows, name)()
        if flow.dimension not in STATES or not hasattr(flow, "rhs"):
            continue
        names = names_of(flow)
        try:
            tables = terms_of(flow, names)
        except ValueError:
            continue
        check(flow, tables)
        systems[name] = {
            "degree": max(sum(powers) for one in tables for powers in one),
            "period": float(flow.period),
            "rates": {
                state: {named(p, names): c for p, c in reversed(one.items())}
                for state, one in zip(names, tables, strict=True)
            },
            "starts": [
                [float(f"{value:.12g}") for value in start] for start in starts_of(flow)
            ],
        }
        print(f"{len(systems):3} {name}", flush=True)
    head = {
        "source": "dysts 0.96, William Gilpin and contributors, Apache 2.0; "
        "arXiv 2110.05266",
        "made": "benchmarks/extract_flows.py",
        "of": len(listed),
    }
    body = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in systems.items())
    lines = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
    text = "{\n" + ",\n".join(lines) + ',\n "systems": {\n' + body + "\n }\n}\n"
    FILE.write_text(text)
    print(f"{len(systems)} of {len(listed)} systems, in {FILE}")


if __name__ == "__main__":
    main()
