"""Scoreboards: flows of others, their series, scores, peers, tables and pages."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import graphgrad as gg
from graphgrad.cli import app
from graphgrad.study import by_system
from graphgrad.study.draws import draw, system_of
from graphgrad.study.figures import png
from graphgrad.study.flow_scores import scored_rates
from graphgrad.study.flow_systems import (
    flow_series,
    flow_systems,
    for_development,
    integrate,
    trajectory,
)
from graphgrad.study.methods import METHODS
from graphgrad.study.methods import flow as flow_methods
from graphgrad.study.methods.flow_sindy import by_bic, by_truth, differences
from graphgrad.study.plan import Cell, Fits, together
from graphgrad.study.records import as_csv, from_csv
from graphgrad.study.store import Store
from graphgrad.study.studies import STUDIES
from graphgrad.study.summary import interval, summarise
from graphgrad.study.tables import markdown
from graphgrad.study.tasks import Row, tasks_of

BOARDS = ("flows", "flows-held-back", "flows-published", "lorenz-odr", "lorenz-sde")
SDE = Cell("100 rows", 0, "lorenz-sde", steps=100)


def _cell(name="Lorenz", *, points=100, noise=0.01, rows=120, **options):
    degree = flow_systems()[name].degree
    options = {"name": name, "points": points, "noise": noise, **options}
    return Cell("one", 0, "flow", options, steps=rows, degree=degree)


# What is run.


def test_systems_are_those_of_the_issue():
    systems = flow_systems()
    assert len(systems) == 81
    assert {len(s.states) for s in systems.values()} == {3, 4}
    assert sum(map(for_development, systems)) == 33
    rossler = systems["Rossler"]  # dx = -y - z, dy = x + 0.2 y, dz = 0.2 + x z - 5.7 z
    expected = np.zeros((3, 10))
    expected[0, [2, 3]] = -1
    expected[1, [1, 2]] = 1, 0.2
    expected[2, [0, 3, 6]] = 0.2, -5.7, 1
    np.testing.assert_allclose(rossler.coefficients, expected)
    np.testing.assert_array_equal(rossler.truth(3)[:, :10], expected)
    assert not rossler.truth(3)[:, 10:].any()
    with pytest.raises(ValueError, match="have degree 2"):
        rossler.truth(1)


def test_no_system_is_in_both_halves_and_none_is_lost():
    names = [
        {cell.options["name"] for cell in STUDIES[study].cells}
        for study in ("flows", "flows-held-back")
    ]
    assert not names[0] & names[1]
    assert names[0] | names[1] == set(flow_systems())
    assert {len(STUDIES[study].columns) for study in ("flows", "flows-held-back")} == {
        7
    }


def test_systems_of_one_shape_are_run_one_after_the_other():
    for study in ("flows", "flows-held-back", "flows-published"):
        systems = [flow_systems()[c.options["name"]] for c in STUDIES[study].cells]
        shapes = [(len(s.states), s.degree) for s in systems]
        assert shapes == sorted(shapes)


@pytest.mark.slow
def test_as_many_draws_as_a_scoreboard_has_whatever_is_asked_for():
    sizes = {name: tasks_of(STUDIES[name], 150) for name in BOARDS}
    fits = {name: sum(len(t.seeds) for t in tasks) for name, tasks in sizes.items()}
    assert fits["flows"] == 33 * 7 * 3 * len(STUDIES["flows"].methods)
    assert fits["flows-published"] == 70 * 3 * len(STUDIES["flows-published"].methods)
    assert fits["lorenz-odr"] == 16 * 100 * 3


def test_cells_are_asked_for_by_column_system_or_both():
    study = STUDIES["flows"]

    def asked(*cells):
        return {t.cell.label for t in tasks_of(study, 1, cells=cells)}

    assert len(asked("Lorenz")) == 7
    assert len(asked("12/period 1 %")) == 33
    assert asked("Lorenz 12/period 1 %") == asked("Lorenz") & asked("12/period 1 %")


# Data.


def test_a_flow_is_integrated_as_it_is_solved_by_hand():
    turning = np.array([[0.0, 0, 1], [0, -1, 0]])  # dx = y, dy = -x
    times = np.linspace(0, 20, 101)
    found = integrate(turning, 1, times, np.array([0.0, 2.0]))
    expected = 2 * np.stack([np.sin(times), np.cos(times)], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_series_have_the_noise_that_is_asked_for():
    states = trajectory("Lorenz", 100)
    ys, dt, truth, names = flow_series("Lorenz", 100, 0.05, seed=3)
    assert dt == flow_systems()["Lorenz"].period / 100
    assert truth.shape == (3, 10)
    assert names == ("x", "y", "z")
    share = (ys - states).std(axis=0) / states.std(axis=0)
    # Of 500 draws each: within four standard errors.
    np.testing.assert_allclose(share, 0.05, rtol=4 / np.sqrt(2 * 500))
    again = flow_series("Lorenz", 100, 0.05, seed=3)[0]
    np.testing.assert_array_equal(ys, again)
    assert not np.array_equal(ys, flow_series("Lorenz", 100, 0.05, seed=4)[0])


def test_draws_are_the_series_and_say_their_noise():
    cell = _cell(noise=0.1, rows=500)
    draws = draw(cell, np.array([2, 5]))
    alone = draw(cell, np.array([5]))
    np.testing.assert_array_equal(draws.observations[1], alone.observations[0])
    ys = flow_series("Lorenz", 100, 0.1, seed=5)[0]
    np.testing.assert_allclose(draws.observations[1], ys, rtol=1e-12)
    size = 0.1 * draws.states[0].std(axis=0)
    np.testing.assert_allclose(draws.system.observation_noise, size**2)
    # Another column has the same draws at another size.
    less = draw(_cell(noise=0.01, rows=500), np.array([5]))
    np.testing.assert_allclose(
        10 * (less.observations - less.states), alone.observations - alone.states
    )


def test_published_series_begin_at_points_of_their_own():
    cell = _cell(rms=0.01, series=5, rows=50)
    draws = draw(cell, np.arange(1))
    assert draws.observations.shape == (1, 5, 50, 3)
    starts = flow_systems()["Lorenz"].starts[:5]
    np.testing.assert_allclose(draws.states[0, :, 0], starts)
    rms = np.sqrt(np.mean(draws.states**2))
    np.testing.assert_allclose(np.sqrt(draws.system.observation_noise), 0.01 * rms)


@pytest.mark.slow
def test_lorenz_is_that_of_the_script_of_odr_bindy():
    cell = Cell("eps", 0, "lorenz-odr", {"eps": 0.2}, steps=400)
    draws = draw(cell, np.arange(1))
    np.testing.assert_array_equal(draws.states[0, 0], [-8, 8, 27])
    lorenz = gg.systems.lorenz63(dt=0.01).coefficients(2)
    np.testing.assert_allclose(draws.system.coefficients(2), lorenz)
    # The deviation of ten units of time, whatever is seen of them.
    longer = replace(cell, steps=1000)
    size = 0.2 * draw(longer, np.arange(1)).states.std(ddof=1)
    for one in (cell, longer):
        noise = system_of(one, 0).observation_noise
        np.testing.assert_allclose(noise, size**2)


def test_the_stochastic_lorenz_has_the_noise_that_is_stated():
    draws = draw(SDE, np.arange(20))
    assert draws.observations.shape == (20, 100, 1)
    alone = draw(SDE, np.array([7]))
    np.testing.assert_array_equal(draws.observations[7], alone.observations[0])
    noise = draws.observations[..., 0] - draws.states[..., 0]
    # Of 2000 draws: within four standard errors.
    assert abs(noise.std() - 1) < 4 / np.sqrt(2 * 2000)
    assert abs(draws.states[:, 0].mean() - 1) < 4 * 0.1 / np.sqrt(60)
    # Over an interval the paths part from that of the flow by about sqrt(dt).
    lorenz, dt = draws.system.coefficients(2), draws.system.dt
    apart = []
    for path in draws.states[:5]:
        for k in range(10):
            after = integrate(lorenz, 2, np.array([0, dt]), path[k])[-1]
            apart.append(path[k + 1] - after)
    # 150 numbers; the flow turns the noise a little on its way.
    assert abs(np.std(apart) / np.sqrt(dt) - 1) < 0.25


# Scores and peers.


def test_scores_of_rates_by_hand():
    cell = _cell()
    draws = draw(cell, np.arange(3))
    truth = draws.system.coefficients(2)
    off, missing = 1.02 * truth, truth.copy()
    missing[1, 1] = 0  # 28, the largest
    found = scored_rates(cell, draws, np.stack([truth, off, missing]))
    np.testing.assert_array_equal(found["exact"], [1, 1, 0])
    np.testing.assert_allclose(found["f1"], [1, 1, 12 / 13])
    np.testing.assert_allclose(found["coefficient_error"], [0, 0.02, 0], atol=1e-12)
    np.testing.assert_allclose(found["spectral_error"][:2], [0, 0.02], atol=1e-12)
    np.testing.assert_array_equal(found["near"], [1, 1, 0])


@pytest.mark.slow
def test_peers_by_the_truth_are_no_worse_than_by_bic():
    cell = _cell(noise=0.01, rows=300)
    draws = draw(cell, np.arange(1))
    f1 = {
        name: METHODS[name](cell, draws)["f1"][0]
        for name in ("stlsq-bic", "stlsq-truth", "weak-bic", "weak-truth")
    }
    assert f1["stlsq-truth"] >= f1["stlsq-bic"] > 0.5
    assert f1["weak-truth"] >= f1["weak-bic"] > 0.5


def test_peers_find_a_flow_of_five_series_without_noise():
    cell = _cell("SprottD", noise=0.0, series=5, rows=200)
    found = METHODS["stlsq-truth"](cell, draw(cell, np.arange(1)))
    assert found["exact"] == [1]


def test_settings_are_chosen_as_is_said():
    draws = draw(_cell(noise=0.0), np.arange(1))
    truth = draws.system.coefficients(2)
    data = differences([draws.states[0]], draws.system.dt, 2)
    full, none = np.linalg.lstsq(data.terms, data.rates)[0].T, np.zeros_like(truth)
    fits = [none, full, truth]
    np.testing.assert_array_equal(by_truth(data, iter(fits), truth)[1], truth)
    assert by_bic(data, iter(fits), truth)[1] is not none


# Ours, with a fit that takes no time.


class _Fit(gg.GraphGrad):
    """Stands for the estimator: gives the truth, but for some seeds."""

    def __init__(self, *, degree, dt, random_state, **settings):
        self.seed, self.settings = random_state, settings
        self.outcome_ = "undecided" if random_state == 2 else "converged"
        self.dynamics_ = "map" if random_state == 3 else "flow"
        self.substeps_, self.n_iter_, self.state_noise_ = 4, 7, np.zeros(3)

    def fit(self, y, times=None, inputs=None, *, checkpoint=None):
        self.coef_ = flow_systems()["Lorenz"].coefficients.copy()
        if self.seed == 1:
            self.coef_[0, 0] = 0.5
        self.standard_errors_ = 0.01 * np.abs(self.coef_)
        return self


def test_right_and_wrong_and_how_sure(monkeypatch):
    monkeypatch.setattr(flow_methods, "GraphGrad", _Fit)
    cell = _cell()
    found = METHODS["flow"](cell, draw(cell, np.arange(4)))
    np.testing.assert_array_equal(found["exact"], [1, 0, 1, 0])
    np.testing.assert_array_equal(found["converged_right"], [1, 0, 0, 0])
    np.testing.assert_array_equal(found["converged_wrong"], [0, 1, 0, 1])
    np.testing.assert_array_equal(found["covered"], [1, np.nan, 1, np.nan])
    np.testing.assert_array_equal(found["coefficient_error"], [0, 0, 0, 1])
    assert set(found["substeps"]) == {4}


def test_what_is_known_is_told(monkeypatch):
    told = []

    class Telling(_Fit):
        def __init__(self, **settings):
            super().__init__(**settings)
            told.append(self.settings)

    monkeypatch.setattr(flow_methods, "GraphGrad", Telling)
    cell = _cell()
    draws = draw(cell, np.arange(1))
    for name in ("flow", "flow-noise-given", "flow-ode-given"):
        METHODS[name](cell, draws)
    assert told[0] == {}
    for one in told[1:]:
        noise = one.pop("observation_noise")
        np.testing.assert_array_equal(noise, draws.system.observation_noise)
    assert told[1:] == [{}, {"state_noise": 0.0}]


def test_only_rho_is_free(monkeypatch):
    told = []

    class Telling(_Fit):
        def __init__(self, **settings):
            super().__init__(**settings)
            told.append(self.settings)

    monkeypatch.setattr(flow_methods, "GraphGrad", Telling)
    found = METHODS["flow-one-unknown"](SDE, draw(SDE, np.arange(1)))
    assert found["rho"] == [28]
    assert found["rho_covered"] == [1]
    assert found["rho_high"] > found["rho_low"]
    constraints = told[0]["constraints"]
    assert len(constraints) == 29
    assert {c.value for c in constraints} == {-10, 10, -1, 1, -8 / 3, 0}
    assert ("x2", "x1") not in {(c.target, c.term) for c in constraints}


@pytest.mark.slow
def test_the_estimator_finds_a_flow():
    # With 200 rows; a chunk of one is enough to see that both fit together.
    cell = _cell("SprottD", rows=200)
    found = METHODS["flow"](cell, draw(cell, np.arange(1)))
    assert found["exact"] == [1]
    assert found["coefficient_error"] < 0.02


# Tables, figures, pages.


def _fits(exact, seeds=3):
    numbers = np.resize(np.asarray(exact, float), seeds)
    return Fits(
        seeds=np.arange(seeds),
        metrics={
            "exact": numbers,
            "coefficient_error": 0.01 * (2 - numbers),
            "outcome": np.full(seeds, float(gg.Outcome.converged)),
        },
        seconds=np.ones(seeds),
        coefficients=None,
        versions=({"graphgrad": "0"},),
    )


def test_fits_of_a_column_are_counted_by_system():
    both = together([_fits([1, 1, 1]), _fits([0, 0, 1])])
    summary = summarise({("c", "flow"): both})["c", "flow"]
    value = summary.values["exact"]
    assert value.value == pytest.approx(4 / 6)
    assert value.half == pytest.approx(interval(np.array([1, 1 / 3])))
    assert (value.known, summary.fits) == (6, 6)
    assert summary.values["coefficient_error_median"].value == pytest.approx(0.01)
    single = _fits([1])
    assert together([single]) is single


def _stored(store, study, exact):
    """Fits of some cells: by label, how many of three are right."""
    for task in tasks_of(study, 3, methods=[study.methods[0]], cells=list(exact)):
        rows = [
            Row(
                seed,
                {
                    "exact": float(seed < exact[task.cell.label]),
                    "coefficient_error": 0.01,
                    "converged_wrong": 0.0,
                    "outcome": float(gg.Outcome.converged),
                },
                1.0,
                {"graphgrad": "0"},
                None,
            )
            for seed in task.seeds.tolist()
        ]
        store.add(task, rows)


RIGHT = {
    "Lorenz 100/period 1 %": 3,
    "Finance 100/period 1 %": 1,
    "Lorenz 12/period 1 %": 3,
}


@pytest.mark.slow
def test_tables_have_a_column_for_many_systems(tmp_path):
    study = STUDIES["flows"]
    with Store(tmp_path / "s.sqlite") as store:
        _stored(store, study, RIGHT)
        found = store.found(study, 3)
        cells = store.of_cells(study, 3)
    assert set(found) == {("100/period 1 %", "flow"), ("12/period 1 %", "flow")}
    assert len(cells) == 3
    table = summarise(found)
    assert "| flow | 3-6 | 0.67 ± " in markdown(study, table)
    again = from_csv(study, as_csv(study, table))
    assert again["100/period 1 %", "flow"].values["exact"].value == pytest.approx(4 / 6)
    assert png(study, table, found).startswith(b"\x89PNG")
    # Which systems are wrong.
    text = by_system.systems_csv(study, cells)
    rows = by_system.from_systems_csv(text)
    wrong = by_system.wrong(rows, "flow")
    assert [row.system for row in wrong["100/period 1 %"]] == ["Finance"]
    assert wrong["12/period 1 %"] == []
    assert "converged converged converged" in text


def test_of_two_tables_of_systems_the_lines_with_more_fits_count():
    study = STUDIES["flows"]
    place = ("Lorenz 100/period 1 %", "flow")
    old = by_system.systems_csv(
        study, {place: _fits([1]), (place[0], "weak-bic"): _fits([0])}
    )
    new = by_system.systems_csv(study, {place: _fits([0], seeds=1)}, old)
    rows = list(csv.DictReader(io.StringIO(new)))
    assert [(row["method"], row["fits"]) for row in rows] == [
        ("flow", "3"),
        ("weak-bic", "3"),
    ]


def test_published_numbers_stand_beside_ours():
    odr = STUDIES["lorenz-odr"]
    shown = markdown(odr, {})
    assert "| published: ODR-BINDy, noise given |  | 1.00 |" in shown
    assert "0.04 | 0.19 | 0.38 | 0.73 |" in shown
    assert "published: weak MIOSR |  | 0.91 | 0.86 | 0.83 |" in markdown(
        STUDIES["flows-published"], {}
    )
    sde = STUDIES["lorenz-sde"]
    assert "| published: mean trajectory |  | 28.18 |" in markdown(sde, {})
    for study in (odr, sde, STUDIES["flows-published"]):
        assert png(study, {}, {}).startswith(b"\x89PNG")


@pytest.mark.slow
def test_scoreboards_have_a_page_of_their_own(tmp_path):
    study = STUDIES["flows"]
    with Store(tmp_path / "s.sqlite") as store:
        _stored(store, study, RIGHT)
    arguments = ["reproduce", "page", "--out", str(tmp_path), "--store"]
    result = CliRunner().invoke(app, [*arguments, str(tmp_path / "s.sqlite")])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "flows" / "flows.md").read_text()
    assert "# flows: 33 flows of dysts" in page
    assert "- 100/period 1 %: Finance (1 of 3)." in page
    assert "- 12/period 1 %: none." in page
    brief = (tmp_path / "flows.md").read_text()
    assert "## 33 flows of dysts" in brief
    assert "[flows](flows/flows.md)" in brief
    assert "\n\nflows/flows\n```" in brief
    assert "dysts" not in (tmp_path / "paper.md").read_text()
    made = {path.name for path in (tmp_path / "flows").iterdir()}
    files = ("flows.csv", "flows.tex", "flows.png", "flows-systems.csv", "flows.md")
    assert made == {*files}


def test_cells_that_are_not_there_are_told_without_all_that_are():
    arguments = ["reproduce", "flows", "--cells", "Lorentz"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code != 0
    assert "'Lorenz'" in result.output
    assert "'Lorenz 12/period 1 %'" not in result.output
