"""Terms, rows and memory are counted before anything is allocated."""

import tracemalloc
from time import process_time

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import graphgrad as gg
from graphgrad import resources
from graphgrad.cli import app
from graphgrad.estimator import fitting
from helpers.stubs import least_squares

ROWS = np.random.default_rng(0).standard_normal((1000, 2))
NOISE = np.random.default_rng(1).standard_normal((20, 20_000))
TIMES = np.arange(1000.0)


def _late(seconds):
    return {"times": TIMES + seconds * (TIMES > 500)}


@pytest.mark.parametrize(
    ("settings", "y", "given", "complaint"),
    [
        ({"degree": 10**6}, ROWS, {}, "`degree` must give at most 100000 terms"),
        ({"degree": 10**400}, ROWS, {}, "got degree 1000000000.* terms"),
        ({"degree": 10**30}, ROWS, {}, "`degree` must give at most 100000 terms"),
        ({"hidden": 10**13}, ROWS, {}, "of 10000000000002 states and inputs: 5e"),
        ({}, np.zeros((10, 20_000)), {}, r"`y` must fit into memory, .* Give fewer"),
        ({"degree": 1}, np.zeros((50, 20_000)), {}, "`y` must fit into memory"),
        ({"degree": 1}, NOISE, {}, "`y` must fit into memory"),
        ({"lags": 250}, ROWS, {}, "502 states, with 506 terms each"),
        ({"dt": 1e-9}, ROWS, {"times": TIMES}, "`dt` must be near the intervals"),
        ({"dt": 1e300}, ROWS, {"times": TIMES}, "1e.300 intervals, more than 1000"),
        ({}, ROWS, _late(1e8), "got 1e.08 between rows 501 and 502: .* long gaps"),
        (
            {},
            [ROWS, ROWS],
            {"times": [TIMES, _late(1e9)["times"]]},
            "between rows 501 and 502 of series 2",
        ),
        (
            {"engine": "particle", "n_particles": 10**9},
            *(ROWS, {}, "`n_particles` must fit into memory"),
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.* columns that vary")
def test_what_is_too_large_is_refused_at_once(
    monkeypatch, settings, y, given, complaint
):
    monkeypatch.setattr(fitting, "adaptive", least_squares)
    monkeypatch.setattr(resources, "memory_limit", lambda: 16 * 10**9)
    begin = process_time()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=complaint):
            gg.GraphGrad(**settings).fit(y, **given)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * np.asarray(y).nbytes + 50e6
    assert process_time() - begin < 10


def test_libraries_and_draws_are_counted(monkeypatch):
    for make in (
        lambda: gg.Polynomial(30, 30),
        lambda: gg.degree_matrix(10**5, 10**5),
        lambda: gg.Polynomial(2, 300, root=300),
    ):
        with pytest.raises(ValueError, match="`degree` must give at most 100000 terms"):
            make()
    with pytest.raises(ValueError, match="`steps` must fit into memory"):
        gg.systems.lorenz63().simulate(jax.random.key(0), 10**12)
    assert gg.Polynomial(3, 80).n_states == 3  # 91 881 terms


def test_the_command_line_counts_before_it_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("x,y\n1,2\n2,1\n1,3\n3,2\n2,2\n")
    run = CliRunner().invoke(app, ["fit", "data.csv", "--degree", str(10**6)])
    assert (run.exit_code, run.stdout) == (2, "")
    assert "graphgrad: `degree` must give at most 100000 terms" in run.stderr


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(resources, "GROUP_LIMITS", (limit, tmp_path / "none"))
    found = resources.memory_limit.__wrapped__
    limit.write_text("max\n")
    assert found() != 10**6
    limit.write_text("1000000\n")
    assert found() == 10**6
