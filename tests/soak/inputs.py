"""Arrays, frames, times, settings and constraints of all kinds, up to the solver."""

import datetime
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import graphgrad as gg
from graphgrad.estimator import fitting
from helpers.outcomes import Tally, label, tally


class ReachedSolverError(Exception):
    """All checks were passed."""


DTYPES = ("f8", "f4", "f2", "i8", "i1", "u8", "?", "c16", "O", "U3", "M8[D]", "m8[s]")
LENGTHS = (0, 1, 2, 3, 5, 12)
ODD = (
    *(None, True, "x", "", "auto", -1, 0, 0.5, 3, 10**9, 10**30, 1e300, 1e-300),
    *(float("nan"), float("inf"), [], {}, object(), b"x", 1j, [None], np.zeros(0)),
    *(np.float64(2), np.int8(1), {"x1": 1}, ["x1", "x1"], [["x1"]], ("x2", "x1")),
)
SETTINGS = (
    *("degree", "dt", "states", "observation", "library", "state_noise"),
    *("observation_noise", "initial", "solver", "engine", "penalty", "selection"),
    *("n_particles", "dynamics", "constraints", "lags", "hidden", "seasons"),
    *("origin", "inputs_between", "time_unit", "random_state"),
)
NAMES = st.sampled_from(["x1", "x2", "", "t", "x1 x2", "1", "=x", "\x1b", "x1^2", "é"])
NUMBERS = st.floats(-1e9, 1e9)


def _made(make: Any, *parts: Any) -> Any:
    """A constraint, or what its constructor refuses, clearly, as text."""
    try:
        return make(*parts)
    except ValueError as error:
        return str(error)


CONSTRAINTS = st.one_of(
    st.builds(_made, st.just(gg.known), NAMES, NAMES, NUMBERS),
    st.builds(_made, st.just(gg.forbid), NAMES, NAMES),
    st.builds(_made, st.just(gg.sign), NAMES, NAMES, st.sampled_from("+-")),
    st.builds(lambda a, b: _made(gg.only_edges, [(a, b)]), NAMES, NAMES),
    st.builds(_made, st.just(gg.bounds), NAMES, NAMES, NUMBERS, NUMBERS),
    st.builds(_made, st.just(gg.conserve), NAMES, NAMES),
    st.builds(lambda a, b: _made(gg.equal, (a, b), ("x1", "x2")), NAMES, NAMES),
    st.builds(_made, st.just(gg.velocity), NAMES, NAMES),
    st.sampled_from(ODD),
)


def _array(data: Any, length: int) -> Any:
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES[:5] * 9 + DTYPES)))
    shape = data.draw(st.sampled_from([(length, 2)] * 8 + [(length,), (length, 2, 1)]))
    if dtype.kind == "O":
        return np.array(data.draw(st.lists(st.sampled_from(ODD), max_size=4)), object)
    elements = None
    if dtype.kind == "f":
        elements = st.sampled_from([0.0, 1.0, -2.5, 1e-8, 3e4, np.nan, np.inf])
        if data.draw(st.booleans()):
            rows = np.random.default_rng(length).standard_normal(shape)
            return rows.astype(dtype)
    return data.draw(npst.arrays(dtype, shape, elements=elements))


def _times(data: Any, length: int) -> Any:
    kind = data.draw(st.sampled_from(["no"] * 5 + ["even", "any", "dates", "odd"]))
    if kind == "no":
        return None
    if kind == "even":
        return data.draw(st.sampled_from([1.0, 1e-9, 1e9, -1.0, 0.0])) * np.arange(
            length
        )
    if kind == "any":
        return data.draw(st.lists(st.floats(), min_size=length, max_size=length))
    if kind == "dates":
        zero = datetime.datetime(1, 1, 1)
        spans = st.integers(0, 3_600_000)
        days = st.lists(spans, min_size=length, max_size=length)
        return [zero + datetime.timedelta(days=n) for n in data.draw(days)]
    return data.draw(st.sampled_from(ODD))


def _framed(data: Any, y: Any, times: Any) -> tuple[Any, Any]:
    """The rows as they are, masked, in a list, or in a frame with its times."""
    kind = data.draw(st.sampled_from(["array"] * 4 + ["list", "mask", "pd", "pl"]))
    if kind == "list":
        return [y, y], None if times is None else [times, times]
    if kind == "mask":
        return np.ma.masked_array(y, np.zeros(np.shape(y), bool)), times
    if kind in ("pd", "pl") and np.ndim(y) == 2:
        names = data.draw(st.lists(NAMES, min_size=2, max_size=2))
        frame = dict(zip(names, y.T, strict=False))
        if times is not None and np.shape(times) == (len(y),):
            frame["t"], times = times, None
        try:
            return (pd if kind == "pd" else pl).DataFrame(frame), times
        except Exception:  # what the frame itself refuses is not ours
            return y, times
    return y, times


def campaign(examples: int, start: int = 0) -> Tally:
    """Fit inputs of all kinds with a solver that ends as it begins.

    Args:
        examples: Number of inputs.
        start: Seed.
    """
    found: Tally = Counter()

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=False,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),  # pyright: ignore
    )
    @given(st.data())
    def attack(data: Any) -> None:
        length = data.draw(st.sampled_from(LENGTHS + (12,) * 20))
        times = _times(data, length)
        y, times = _framed(data, _array(data, length), times)
        options: dict[str, Any] = {"degree": data.draw(st.sampled_from([1, 1, 2]))}
        odd = st.lists(st.sampled_from(SETTINGS), max_size=1)
        options |= {name: data.draw(st.sampled_from(ODD)) for name in data.draw(odd)}
        if data.draw(st.integers(0, 3)) == 0:
            options["constraints"] = data.draw(st.lists(CONSTRAINTS, max_size=2))
        inputs = None
        if data.draw(st.integers(0, 9)) == 0:
            inputs = _array(data, length)
        what = label(options, y, times, inputs)
        tally(found, what, lambda: _fit(options, y, times, inputs))

    original, fitting.solve = fitting.solve, _reached
    try:
        attack()
    finally:
        fitting.solve = original
    return found


def _reached(*_: Any, **__: Any) -> Any:
    raise ReachedSolverError


def _fit(options: dict[str, Any], y: Any, times: Any, inputs: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            gg.GraphGrad(**options).fit(y, times=times, inputs=inputs)
        except ReachedSolverError:
            return
