"""Outputs of a fit: equations, graph, residuals, summary, report, plots."""

import re
from importlib import import_module
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats
import sympy

import graphgrad as gg
from graphgrad.cli.headers import read_header
from graphgrad.cli.summary import summary
from graphgrad.confidence import Posterior, Stability
from graphgrad.diagnostics import term_confidence, uncertainty
from graphgrad.diagnostics.residuals import verdicts
from graphgrad.estimator import fitting, output_methods
from graphgrad.estimator.report import fit_findings
from graphgrad.estimator.summary import fit_summary
from graphgrad.model import DYNAMICS
from graphgrad.report import write_report
from graphgrad.solution import Doubt, Outcome
from graphgrad.solvers import AdaptiveProgress
from helpers.stubs import least_squares

T = 60
LOTKA = gg.systems.lotka_volterra()
NAMES = ["prey", "fox"]


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Fits by a stub."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "adaptive", least_squares)
        yield


@pytest.fixture(scope="module")
def y():
    with jax.enable_x64(True):
        return np.asarray(LOTKA.simulate(jax.random.key(0), steps=T).observations)


@pytest.fixture(scope="module")
def fitted(y):
    return gg.GraphGrad(dt=LOTKA.dt, states=NAMES).fit(y)


@pytest.fixture(scope="module")
def driven(y):
    rng = np.random.default_rng(0)
    u = rng.normal(size=(T, 1))
    return gg.GraphGrad(degree=1, dt=LOTKA.dt, states=NAMES).fit(y, inputs=u)


def evaluated(line, names, points):
    """Values of the right side of a line of text at several points."""
    right = line.split(" = ")[1]
    # A blank between names is a product, as is one between number and name.
    right = re.sub(r"(?<=[\w)]) (?=\w)", " * ", right).replace("^", "**")
    values = [
        sympy.sympify(right).subs(dict(zip(names, p, strict=True))) for p in points
    ]
    return np.array(values, float)


def as_text(line):
    """A line of LaTeX as `evaluated` reads it."""
    plain = re.sub(r"_\{(\d*),?(t(\+1)?)?\}", r"\1", line)
    plain = re.sub(r"\\mathrm\{(\w+)\}", r"\1", plain)
    plain = re.sub(r"\\frac\{d\}\{dt\}", "", plain)
    plain = re.sub(r" \\times 10\^\{(-?\d+)\}", r"e\1", plain)
    return re.sub(r"\^\{(\w+)\}", r"^\1", plain).replace(r"\,", " ")


@pytest.mark.parametrize("kind", DYNAMICS)
@pytest.mark.parametrize("with_input", [False, True])
def test_what_is_printed_is_what_is_simulated(kind, with_input, y, x64):
    """Text, LaTeX, SymPy and NumPy have the coefficients of `coef_`, and no others."""
    u = np.random.default_rng(0).normal(size=(T, 1)) if with_input else None
    model = gg.GraphGrad(
        degree=1 if with_input else 2, dt=LOTKA.dt, states=NAMES, dynamics=kind
    ).fit(y, inputs=u)
    variables = [*NAMES, "u1"] if with_input else NAMES
    points = np.random.default_rng(1).uniform(1, 9, size=(5, len(variables)))
    library = model.model_.library
    truth = np.asarray(library(jnp.asarray(points))) @ model.coef_.T
    following = truth + points[:, :2] if kind == "difference" else truth
    function = model.numpy_function()
    arguments = (points[:, :2], points[:, 2:]) if with_input else (points,)
    arguments = (0.0, *arguments) if kind == "flow" else arguments
    np.testing.assert_allclose(function(*arguments), following, rtol=1e-11)
    room = {}
    exec(model.numpy_source(), room)
    source = room["rate" if kind == "flow" else "step"]
    assert (source(*arguments) == function(*arguments)).all()
    values: list[dict[Any, Any]] = [
        dict(zip(variables, p, strict=True)) for p in points
    ]
    columns = [np.array([e.subs(v) for v in values], float) for e in model.sympy()]
    np.testing.assert_allclose(np.stack(columns, 1), truth, rtol=1e-11)
    for lines in (model.equations(17), [as_text(line) for line in model.latex(17)]):
        found = [evaluated(line, variables, points) for line in lines]
        np.testing.assert_allclose(np.stack(found, 1), truth, rtol=1e-11)
    acting = points[:1, 2:] if with_input else None
    path = model.simulate(points[0, :2], steps=1, inputs=acting)
    if kind == "flow":
        step = model.numpy_function(step=model.dt_)
        following = step(points[:, :2], *arguments[2:])
    np.testing.assert_allclose(path[1], following[0], rtol=1e-12)


def test_text_ends_where_standard_errors_do(fitted):
    """The stub says 0.01 of all coefficients: three digits after the point."""
    first = fitted.equations()[0]
    assert re.fullmatch(r"dprey/dt = -?\d+\.\d{3}( [+-] \d+\.\d{3} [\w ^]+)+", first)
    shown = re.findall(r"\d+\.\d{3}", first)
    assert re.findall(r"\d+\.\d{3}", fitted.latex()[0]) == shown
    assert fitted.equations(2) == gg.equations(
        fitted.coef_, fitted.model_.library, NAMES, digits=2, dynamics="flow"
    )
    assert fitted.equations(align=True)[1].startswith("dfox/dt  = ")


def test_equations_are_of_the_dynamics_of_the_fit(y):
    model = gg.GraphGrad(degree=1, dt=0.5).fit(y)
    assert model.dynamics_ == "flow"
    assert model.equations()[0].startswith("dx1/dt = ")
    assert r"\frac" in model.latex()[0]
    assert "def rate(t, x)" in model.numpy_source()
    assert "def step(x)" in model.numpy_source(step=1.0)
    # As fine as the fit's: two intervals of 0.5, one step in each.
    assert "A time of 1.0 in 2 Runge-Kutta steps" in model.numpy_source(step=1.0)
    assert "A time of 1.0 in 7 Runge-Kutta" in model.numpy_source(step=1.0, substeps=7)
    # The dynamics are those of the fit.
    model.set_params(dynamics="map")
    assert model.equations()[0].startswith("dx1/dt = ")
    for method in (model.equations, model.latex, model.sympy, model.numpy_source):
        with pytest.raises(ValueError, match="`form` must be left out, got 'map'"):
            method(form="map")
    mapped = gg.GraphGrad(degree=1, dt=0.5, dynamics="map").fit(y)
    with pytest.raises(ValueError, match="`step` must be left out for dynamics 'map'"):
        mapped.numpy_function(step=0.5)


def test_graph_with_strengths_inputs_and_confidence(fitted, driven):
    for model in (fitted, driven):
        for source, target, data in model.graph().edges(data=True):
            i = model.state_names_.index(target)
            columns = [model.terms_.index(term) for term in data["terms"]]
            assert data["coefficients"] == tuple(model.coef_[i, columns])
            assert data["strength"] >= 0, source
            assert "confidence" not in data
    graph = driven.graph()
    assert graph.nodes["u1"] == {"kind": "input"}
    assert not list(graph.predecessors("u1"))
    driven.edge_confidence_ = np.full((2, 3), 0.7)
    assert driven.graph().edges["fox", "prey"]["confidence"] == 0.7
    del driven.edge_confidence_


def test_graph_of_irregular_series_has_no_strength(y):
    when = np.sort(np.random.default_rng(0).uniform(0, T, T))
    model = gg.GraphGrad(degree=1, dt=1.0).fit(y, times=when)
    assert "strength" not in model.graph().edges["x1", "x1"]


def linear(y, **options):
    """A fit by the stub with the true equations and noise variances."""
    constraints = [gg.known("x1", "x1", 0.8), gg.forbid("x1", "1")]
    return gg.GraphGrad(degree=1, constraints=constraints, **options).fit(y)


def test_residuals_are_the_innovations_of_kalman(x64):
    """For x' = 0.8 x + v, observed with noise, against a filter written out here."""
    rng = np.random.default_rng(0)
    x, y = np.zeros(200), np.zeros((200, 1))
    for t in range(200):
        x[t] = 0.8 * x[t - 1] + rng.normal()
        y[t] = x[t] + rng.normal()
    y[50:53] = np.nan
    known = {"state_noise": 1.0, "observation_noise": 1.0}
    model = linear(y, initial=([0.0], 4.0), **known)
    m, P, expected = 0.0, 4.0, []
    for value in y[:, 0]:
        m, P = 0.8 * m, 0.64 * P + 1
        expected.append((value - m) / np.sqrt(P + 1))
        if np.isfinite(value):
            gain = P / (P + 1)
            m, P = m + gain * (value - m), (1 - gain) * P
    np.testing.assert_allclose(model.residuals()[:, 0], expected, rtol=1e-10)
    assert model.check_residuals() == ["x1: no autocorrelation, normal, expected size."]
    # The increments of the likelihood are the same innovations.
    known = np.array(expected)[np.isfinite(expected)]
    assert np.mean(known**2) == pytest.approx(1, abs=0.3)
    # The initial state is estimated from the first row, which has no residual.
    free = linear(y, state_noise=1.0, observation_noise=1.0)
    assert np.isnan(free.residuals()[0]).all()
    assert np.isfinite(free.residuals()[1]).all()
    parts = linear([y, y], state_noise=1.0, observation_noise=1.0).residuals()
    assert [np.isnan(part[0, 0]) for part in parts] == [True, True]
    np.testing.assert_allclose(parts[1][1:], free.residuals()[1:], rtol=1e-8)
    assert model.residuals(y[:30]).shape == (30, 1)


def test_residuals_of_counts_are_about_as_large_as_expected(x64):
    rng = np.random.default_rng(0)
    x, y = 5.0, np.zeros((300, 1))
    for t in range(300):
        x = 5 + 0.8 * (x - 5) + 0.1 * rng.normal()
        y[t] = rng.poisson(x)
    constraints = [gg.known("x1", "x1", 0.8), gg.known("x1", "1", 1.0)]
    model = gg.GraphGrad(
        degree=1,
        constraints=constraints,
        state_noise=0.01,
        observation_noise=gg.Poisson(),
        initial=([5.0], 1.0),
    ).fit(y)
    assert np.std(model.residuals()) == pytest.approx(1, abs=0.12)
    assert model.check_residuals() == ["x1: no autocorrelation, expected size."]


def test_verdicts_name_each_fault():
    rng = np.random.default_rng(0)
    good = rng.normal(size=(300, 1))
    assert "no autocorrelation" in verdicts([good], ["a"], normal=True)[0]
    slow = np.convolve(rng.normal(size=302), [0.6, 0.6, 0.6], "valid")[:, None]
    for z, words in (
        (slow, "autocorrelated .* may be missing"),
        (
            np.diff(good, axis=0) / 1.5,
            "autocorrelated .* process noise may be too large",
        ),
        (2 * good, r"2 times the expected size .* noise is larger"),
        (0.5 * good, r"noise is smaller"),
        (rng.standard_t(2, size=(300, 1)), "heavy tails"),
        (rng.exponential(size=(300, 1)) - 1, "not normal"),
        (good[:10], "too few"),
        (np.zeros((300, 1)), "smaller"),
    ):
        (line,) = verdicts([z], ["a"], normal=True)
        assert re.search(f"^a: .*{words}", line), line


def test_no_confidence_beside_a_failed_check_however_the_fit_ended(fitted, x64):
    fit = fitted._fit
    key, doubts = jax.random.key(0), (Doubt("memory", 0.5, "Remembered."),)
    assert "confidence" in fit_summary(key, fit, np.full((2, 2), 0.99))
    for outcome in (Outcome.converged, Outcome.out_of_sweeps):
        doubted = fit._replace(
            solution=fit.solution.with_outcome(outcome), doubts=doubts
        )
        text = fit_summary(key, doubted, np.full((2, 2), 0.99))
        assert "confidence" not in text
        found = fit_findings(key, doubted, steps=0)
        assert found.term_confidence is None
        assert found.residuals_first


def test_verdicts_are_those_of_known_tests():
    """Ljung and Box as statsmodels has it, normality by SciPy."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        z = rng.standard_t(4, size=120)
        line = verdicts([z[:, None] / z.std()], ["a"], normal=True)[0]
        p = float(scipy.stats.normaltest(z).pvalue)
        assert (f"not normal (p = {p:.2g})" in line) == (p < 0.0005)
        z = np.convolve(rng.normal(size=121), [0.8, 0.4], "valid")
        r = [np.sum((z - z.mean())[k:] * (z - z.mean())[:-k]) for k in range(1, 11)]
        r = np.array(r) / np.sum((z - z.mean()) ** 2)
        Q = 120 * 122 * np.sum(r**2 / (120 - np.arange(1, 11)))
        p = scipy.stats.chi2.sf(Q, 10)
        line = verdicts([z[:, None] / z.std()], ["a"], normal=True)[0]
        assert (f"autocorrelated (p = {p:.2g})" in line) == (p < 0.01 / 3)


def test_summary_has_outcome_equations_and_edges(fitted, driven, y):
    text = fitted.summary()
    assert text.startswith(f"2 states from {T} rows, in steps of 0.03: ")
    assert "Outcome: converged. " in text
    assert re.search(r"fox acts on prey through .*, \d+ standard errors from 0\.", text)
    assert "acts on itself" in text
    assert "\n".join(fitted.equations(align=True)) in text
    assert "Residuals of prey: " in text
    driven.term_confidence_ = np.full((2, 4), 0.5)
    driven.edge_confidence_ = np.full((2, 3), 0.93)
    assert "from 0, confidence 93 %." in driven.summary()
    still = [gg.known("x1", "x1", 1.0), gg.forbid("x1", "1"), gg.forbid("x1", "x2")]
    none = [gg.forbid("x2", term) for term in ("1", "x1", "x2")]
    alone = gg.GraphGrad(degree=1, constraints=[*still, *none]).fit(y)
    assert "x1 acts on itself through x1, as given." in alone.summary()
    assert "Nothing acts on x2." in alone.summary()
    assert "1 of 1 candidate terms is selected, 1 of them given." in alone.summary()


def test_unnecessary_process_noise(y, tmp_path, monkeypatch):
    def noiseless(*arguments, **options):
        found = least_squares(*arguments, **options)
        return eqx.tree_at(lambda s: s.noise_free, found, jnp.array(True))

    given = gg.GraphGrad(degree=1, dt=LOTKA.dt, state_noise=0).fit(y)
    monkeypatch.setattr(fitting, "adaptive", noiseless)
    learnt = gg.GraphGrad(degree=1, dt=LOTKA.dt).fit(y)
    for model, said in ((learnt, True), (given, False)):
        assert (model.state_noise_ == 0).all()
        assert ("No process noise is needed." in model.summary()) == said
        found = report_of(model, tmp_path, monkeypatch, forecast=0)
        shown = found.scores["standard deviation of the process noise per unit of time"]
        assert shown == ("none is needed" if said else "0, 0")
        model.save(tmp_path / "fit")
        assert gg.storage.read(tmp_path / "fit")[0]["state_noise"] == [0, 0]
        lines = list(summary(read_header(tmp_path / "fit")))
        ends = "; none is needed" if said else ", 0"
        assert f"Variance of the process noise per unit of time: 0{ends}" in lines


def test_summary_of_many_states_lists_the_strongest():
    rng = np.random.default_rng(0)
    model = gg.GraphGrad(degree=1).fit(rng.normal(size=(40, 6)).cumsum(axis=0))
    assert model.adjacency_.sum() > 20
    assert f"{model.adjacency_.sum() - 20} weaker edges" in model.summary()


@pytest.fixture
def closed():
    yield
    plt.close("all")


@pytest.mark.slow
def test_pictures(fitted, driven, closed):
    assert fitted.plot_graph().texts
    assert fitted.plot_coefficients().get_ylabel() == "equation of"
    first, _ = fitted.plot_states()
    assert first.get_ylabel() == "prey"
    assert first.get_legend_handles_labels()[1] == ["data", "smoothed", "90 % band"]
    assert len(fitted.plot_residuals()) == 3
    past = fitted.plot_forecast(2, members=20)[0]  # a rough fit, which diverges
    assert past.get_xlim()[1] > T * LOTKA.dt
    assert driven.plot_forecast(3, members=5, future_inputs=np.zeros((3, 1)))
    ax = fitted.plot_phase(pair=("fox", "prey"))
    assert ax.get_xlabel() == "fox"
    assert "simulated" in ax.get_legend_handles_labels()[1]
    assert ax.collections  # the vector field
    assert not fitted.plot_phase(rate=None).collections
    assert driven.plot_phase()
    assert fitted.plot_path().get_legend_handles_labels()[1][-1] == "chosen"
    _, own = plt.subplots()
    assert fitted.plot_graph(ax=own) is own


def test_pictures_of_several_series(y, closed):
    two = gg.GraphGrad(degree=1, states=["a", "b", "c"]).fit([y, y[:30]])
    axes = two.plot_states(series=1)
    assert len(axes) == 3
    assert np.shape(axes[0].lines[0].get_xdata()) == (30,)
    unseen = np.asarray(axes[2].lines[0].get_ydata())
    assert np.isnan(unseen).all()
    with pytest.raises(
        ValueError, match="`series` must be below the number of series, 2"
    ):
        two.plot_residuals(series=2)


def test_convergence_plot(y, closed, monkeypatch):
    def telling(*args, callback, **options):
        for stage, sweeps, height in (("anneal", 10, -9), ("refine", 10, -5)):
            callback(AdaptiveProgress(stage, sweeps, 50, height, 4))
        return least_squares(*args, **options)

    monkeypatch.setattr(fitting, "adaptive", telling)
    heard = []
    model = gg.GraphGrad(degree=1, callback=heard.append).fit(y)
    assert len(heard) == 2
    upper, _ = model.plot_convergence()
    assert np.array_equal(upper.lines[0].get_xdata(), [10, 20])
    # No callback is needed.
    assert gg.GraphGrad(degree=1).fit(y).plot_convergence()
    monkeypatch.setattr(fitting, "adaptive", least_squares)
    with pytest.raises(ValueError, match="a fit with recorded progress"):
        gg.GraphGrad(degree=1).fit(y).plot_convergence()


def test_confidence_uses_the_settings_of_the_fit(y, monkeypatch):
    asked = {}

    def recorder(name):
        def record(key, ys, model, solution, **options):
            asked[name] = (ys, model, solution, options)
            found = jnp.full((2, 3), 0.5), jnp.full((2, 2), 0.25), jnp.ones((1, 2, 3))
            if name == "stability":
                return Stability(*found)
            return Posterior(*found, jnp.ones((1, 2)), jnp.ones((1, 2)))

        return record

    for name in ("stability", "posterior"):
        monkeypatch.setattr(term_confidence, name, recorder(name))
    constraints = [gg.forbid("prey", "1")]
    model = gg.GraphGrad(
        degree=1, states=NAMES, constraints=constraints, dynamics="map", penalty=2.0
    ).fit(y)
    model.stability(refits=7, block=11)
    ys, start, solution, options = asked["stability"]
    assert (ys == y).all()
    assert solution is model.solution_
    assert options == {
        "refits": 7,
        "block": 11,
        "engine": model._fit.engine,
        "learn": ("state_noise", "observation_noise"),
        "constraints": tuple(constraints),
        "states": tuple(NAMES),
        "prior": None,
    }
    assert float(solution.penalty_multiplier) == 2.0
    assert start.initial_mean.dtype == float
    assert (model.term_confidence_ == 0.5).all()
    assert model.graph().edges["fox", "prey"]["confidence"] == 0.25
    model.posterior(draws=3)
    assert asked["posterior"][3]["states"] == tuple(NAMES)
    # The next fit resets it.
    assert not hasattr(model.fit(y), "term_confidence_")


def test_confidence_needs_one_series_with_equal_steps(y):
    model = gg.GraphGrad(degree=1).fit([y, y])
    for method in (model.stability, model.posterior):
        with pytest.raises(ValueError, match="one series with equal steps"):
            method()


def test_posterior_takes_constraints_by_name(y, monkeypatch):
    """The sign of fox in the equation of prey: its highest value is zero."""
    asked = []

    def draw(*arguments):
        asked.extend(arguments)
        shapes = (2, 3), (2, 2), (1, 2, 3), (1, 2), (1, 2)
        return Posterior(*map(jnp.zeros, shapes))

    module = import_module("graphgrad.confidence.posterior")
    monkeypatch.setattr(module, "_draw", draw)
    model = gg.GraphGrad(
        degree=1, states=NAMES, constraints=[gg.sign("prey", "fox", "-")]
    ).fit(y)
    model.posterior()
    place = NAMES.index("prey"), model.terms_.index("fox")
    assert asked[4].high[place] == 0
    assert np.isinf(asked[4].high).sum() == 5
    assert asked[-1] is True


def report_of(model, tmp_path, monkeypatch, **options):
    """Record the findings that a report is written from."""
    made = []

    def write(path, findings):
        made.append(findings)
        write_report(path, findings)

    monkeypatch.setattr(output_methods, "write_report", write)
    model.report(tmp_path / "report.html", **options)
    assert (
        (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype")
    )
    return made[0]


@pytest.mark.slow
def test_contents_of_a_report(fitted, tmp_path, monkeypatch):
    # Few steps, as the equations of the stub diverge.
    found = report_of(fitted, tmp_path, monkeypatch, forecast=2)
    assert (found.coefficients == fitted.coef_).all()
    assert (found.standard_errors == fitted.standard_errors_).all()
    assert found.states == tuple(NAMES)
    assert np.array_equal(found.times, LOTKA.dt * np.arange(T))
    assert found.forecast_times == pytest.approx(LOTKA.dt * (T + np.arange(2)))
    assert found.forecast.shape == (5, 2, 2)
    assert (np.diff(found.forecast, axis=0) >= 0).all()
    assert (found.edge_strength[0, 1] > 0) == fitted.adjacency_[0, 1]
    # A term of z standard errors: odds exp((z^2 - penalty) / 2).
    z = fitted.coef_ / 0.01
    penalty = fitted._checked().term_penalties
    sure = 1 / (1 + np.exp(np.clip((penalty - z**2) / 2, -12, 12)))
    np.testing.assert_allclose(found.term_confidence, np.where(z != 0, sure, 0))
    fitted.term_confidence_ = np.full_like(fitted.coef_, 0.5)
    try:
        again = report_of(fitted, tmp_path, monkeypatch, forecast=0)
    finally:
        del fitted.term_confidence_
    assert (again.term_confidence == 0.5).all()
    assert again.forecast is None
    with pytest.raises(ValueError, match="`forecast` must be a whole number"):
        fitted.report(tmp_path / "report.html", forecast=-1)


def test_without_information_there_is_a_report_but_no_forecast(
    fitted, tmp_path, monkeypatch
):
    """As where columns are sums of others, of which the noise is learnt."""

    def lost(*_):
        return jnp.full((12, 12), jnp.nan)

    monkeypatch.setattr(uncertainty, "_information", lost)
    with pytest.raises(ValueError, match=r"`y` must have .* sums or differences of"):
        fitted.forecast(2)
    found = report_of(fitted, tmp_path, monkeypatch)
    assert found.forecast is None
    assert any("no forecast: `y` must" in line for line in found.summary)


@pytest.mark.parametrize("kind", DYNAMICS)
def test_a_report_has_the_coefficients_as_they_are(kind, y, tmp_path, monkeypatch):
    model = gg.GraphGrad(dt=LOTKA.dt, states=NAMES, dynamics=kind).fit(y)
    found = report_of(model, tmp_path, monkeypatch, forecast=0)
    assert found.dynamics == kind
    assert (found.coefficients == model.coef_).all()
    assert (found.path[0] == model.coef_).all()
    assert (found.standard_errors == model.standard_errors_).all()
    what = "per unit of time" if kind == "flow" else "per step"
    assert f"standard deviation of the process noise {what}" in found.scores
    if kind != "flow":
        assert found.field is None
        return
    rate = model.numpy_function()
    places = np.stack(np.meshgrid(found.field_x, found.field_y), axis=-1)
    np.testing.assert_allclose(found.field, rate(0.0, places), rtol=1e-10)


def test_reports_with_inputs_and_of_several_series(y, driven, tmp_path, monkeypatch):
    found = report_of(driven, tmp_path, monkeypatch)
    assert (found.inputs, found.forecast) == (("u1",), None)
    assert found.edge_strength.shape == (2, 3)
    two = gg.GraphGrad(degree=1, states=["a", "b", "c"]).fit([y, y[:30]])
    found = report_of(two, tmp_path, monkeypatch)
    assert (found.breaks, found.forecast) == ((T,), None)
    assert found.data.shape == (T + 30, 2)
    assert found.means.shape == (T + 30, 3)
