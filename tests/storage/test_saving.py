"""Saved fits: bitwise identical when loaded, and inconsistent files are rejected."""

import json
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import graphgrad as gg
from graphgrad.estimator import fitting
from graphgrad.registries import SOLVERS
from graphgrad.storage.settings import decode_setting, encode_setting, kinds
from helpers import FIXTURES
from helpers.stubs import least_squares

T = 40
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
    return gg.GraphGrad(degree=1, dt=LOTKA.dt, states=NAMES).fit(y)


@pytest.fixture
def folder(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    return tmp_path / "run"


def again(model, tmp_path, **given):
    model.save(tmp_path / "fit.zip", leave_out=list(given))
    return gg.GraphGrad.load(tmp_path / "fit.zip", **given)


def same(a, b):
    """Bit for bit, through lists and tuples."""
    if isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, two in zip(a, b, strict=True):
            same(one, two)
        return
    one, two = np.asarray(a), np.asarray(b)
    assert (one.dtype, one.shape) == (two.dtype, two.shape)
    assert one.tobytes() == two.tobytes()


ATTRIBUTES = (
    *("coef_", "standard_errors_", "degrees_", "adjacency_", "state_means_"),
    *("state_noise_", "observation_noise_"),
)
WORDS = (
    *("terms_", "state_names_", "log_likelihood_", "outcome_", "advice_", "dt_"),
    *("dynamics_", "substeps_", "search_"),
)


def agree(model, loaded, y, **more):
    for name in ATTRIBUTES:
        same(getattr(model, name), getattr(loaded, name))
    for name in (*WORDS, "n_iter_", "n_features_in_"):
        assert getattr(model, name) == getattr(loaded, name)
    same(jax.tree.leaves(model.solution_), jax.tree.leaves(loaded.solution_))
    for use in (
        lambda m: m.smooth(),
        lambda m: m.filter(y, **more),
        lambda m: m.score(y, **more),
    ):
        same(use(model), use(loaded))
    assert model.equations() == loaded.equations()
    assert dict(model.graph().edges) == dict(loaded.graph().edges)


@pytest.mark.slow
def test_a_loaded_fit_is_bitwise_identical(fitted, tmp_path, y):
    loaded = again(fitted, tmp_path)
    agree(fitted, loaded, y)
    for use in (
        lambda m: m.forecast(2, members=10).states.members,
        lambda m: m.simulate([9.0, 4.0], 5, noise=True),
        lambda m: m.residuals(),
        lambda m: m.confidence_intervals(),
    ):
        same(use(fitted), use(loaded))
    assert loaded.summary() == fitted.summary()
    assert loaded.get_params() == fitted.get_params()
    assert gg.compare_fits({"a": fitted, "b": loaded}).rows[0].n_terms > 0
    # And once more.
    same(again(loaded, tmp_path).coef_, fitted.coef_)


def test_frames_times_panels_and_inputs(tmp_path, y):
    rng = np.random.default_rng(0)
    clock = np.cumsum(rng.uniform(0.5, 1.5, T))
    frames = [
        pd.DataFrame({"time": clock, "prey": y[:, 0], "fox": y[:, 1]}),
        pd.DataFrame({"time": clock[:20], "prey": y[:20, 0], "fox": y[:20, 1]}),
    ]
    frames[0].loc[5, "prey"] = np.nan
    inputs = [pd.DataFrame({"rain": rng.normal(size=n)}) for n in (T, 20)]
    model = gg.GraphGrad(degree=1).fit(frames, inputs=inputs)
    loaded = again(model, tmp_path)
    agree(model, loaded, frames, inputs=inputs)
    assert list(loaded.feature_names_in_) == NAMES
    assert "rain" in loaded.terms_
    same(loaded.fill()[0], np.asarray(model.fill()[0][NAMES]))


@pytest.mark.parametrize(
    "options",
    [
        {"state_noise": gg.StudentT(0.1, df=5.0), "observation_noise": 0.3},
        {"observation_noise": [[0.3, 0.1], [0.1, 0.4]]},
        {"dynamics": "difference", "penalty": 2.0, "dt": 0.5},
        {"dynamics": "flow", "dt": 0.5, "engine": gg.GaussianSmoother("unscented")},
        {
            "constraints": [
                gg.bounds("x1", "x1", 0.0),
                gg.only_edges([("x1", "x2")]),
                gg.known("x2", "x2", 0.9),
            ]
        },
        {
            "library": gg.Polynomial(3, 1) + gg.trigonometric_terms(3, (1, 2)),
            "observation": ["a", "c"],
            "states": ("a", "b", "c"),
            "initial": (np.zeros(3), 4.0),
        },
        {"engine": "particle", "n_particles": 20, "random_state": 3},
    ],
    ids=[
        "laws",
        "covariance",
        "difference",
        "flow",
        "constraints",
        "library",
        "particles",
    ],
)
def test_settings_come_back(options, tmp_path, y):
    if "state_noise" in options:
        y = y[:, :2]
    model = gg.GraphGrad(**{"degree": 1, **options}).fit(y)
    loaded = again(model, tmp_path)
    agree(model, loaded, y)
    for name in options:
        if name not in ("initial", "states"):
            ours, theirs = getattr(model, name), getattr(loaded, name)
            assert str(ours).replace("weak_", "") == str(theirs)


def paper(key, ys, model, penalty, *, settings, callback):
    """Two groups of batches, in place of the paper's solver."""
    C = np.array([[0.0, 1.0, 0.1], [0.2, 0.0, 0.9]])
    return gg.PaperSolution(
        coefficients=jnp.asarray(C),
        log_likelihood=jnp.asarray(-5.0),
        code=jnp.asarray(0, jnp.int32),
        lengths=(3, 6, 6),
        log_likelihoods=(jnp.full((2, 4), -np.inf), jnp.ones((1, 3))),
        path=(jnp.zeros((2, 2, 3)), jnp.asarray(C)[None]),
        skipped=(jnp.zeros(2, jnp.int32), jnp.zeros(1, jnp.int32)),
        start=jnp.zeros((2, 3)),
    )


@pytest.mark.slow
def test_the_papers_solution(tmp_path, y, monkeypatch):
    monkeypatch.setitem(SOLVERS, "paper", paper)
    options = {"state_noise": 0.1, "observation_noise": 0.25, "random_state": None}
    model = gg.GraphGrad(degree=1, solver="paper", **options).fit(y)
    loaded = again(model, tmp_path)
    agree(model, loaded, y)
    assert isinstance(loaded.solution_, gg.PaperSolution)
    assert loaded.solution_.lengths == (3, 6, 6)
    upper, lower = loaded.plot_convergence()
    assert np.array_equal(lower.lines[0].get_ydata(), [0] * 8 + [4] * 3)
    assert np.shape(upper.lines[0].get_ydata()) == (3,)
    plt.close("all")
    with pytest.raises(ValueError, match="`solver` must be 'adaptive' for `stability`"):
        loaded.stability()
    with pytest.raises(ValueError, match="`solver` must be 'adaptive' for `plot_path`"):
        loaded.plot_path()


@pytest.mark.slow
def test_functions_are_rejected_or_passed_again(tmp_path, y):
    def both(x):
        return jnp.stack([x[0], x[0] + x[1]])

    model = gg.GraphGrad(
        degree=1, observation=both, states=NAMES, initial=([9.0, 5.0], 4.0)
    ).fit(y)
    path = tmp_path / "fit.zip"
    words = (
        r"`observation` must be something that a file can store, got a function\. Save "
        r"with `leave_out=\['observation'\]` and pass it again: "
        r"`load\(path, observation=\.\.\.\)`"
    )
    with pytest.raises(ValueError, match=words):
        model.save(path)
    assert not path.exists()
    loaded = again(model, tmp_path, observation=both)
    agree(model, loaded, y)
    with pytest.raises(ValueError, match="saved without"):
        gg.GraphGrad.load(path)
    with pytest.raises(ValueError, match=r"got 'degree'\. Leave it out"):
        gg.GraphGrad.load(path, observation=both, degree=2)
    with pytest.raises(ValueError, match="`leave_out` must be one of"):
        model.save(path, leave_out=["nothing"])


class OwnEngine(gg.GaussianSmoother):
    """An engine that is in no registry."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("library", gg.UserTerms(2, {"a": ([0], lambda x: x), "b": ([1], jnp.sin)})),
        ("library", gg.FunctionTerms(2, [("id(*)", lambda x: x)])),
        ("engine", OwnEngine("extended", iterations=1)),
        ("random_state", np.random.RandomState(0)),
    ],
)
def test_settings_that_cannot_be_saved(name, value, tmp_path, y):
    model = gg.GraphGrad(degree=1, **{name: value}).fit(y)
    with pytest.raises(ValueError, match=f"`{name}` must be something that a file"):
        model.save(tmp_path / "fit.zip")
    loaded = again(model, tmp_path, **{name: value})
    same(loaded.coef_, model.coef_)


def test_another_library_at_load_is_refused(tmp_path, y):
    terms = {"a": ([0], lambda x: x), "b": ([1], lambda x: x)}
    model = gg.GraphGrad(library=gg.UserTerms(2, terms)).fit(y)
    model.save(tmp_path / "fit.zip", leave_out=["library"])
    terms["c"] = terms.pop("b")
    with pytest.raises(ValueError, match="its terms in model"):
        gg.GraphGrad.load(tmp_path / "fit.zip", library=gg.UserTerms(2, terms))


def test_confidence_is_kept(fitted, tmp_path):
    fitted.term_confidence_ = np.full((2, 3), 0.25)
    fitted.edge_confidence_ = np.full((2, 2), 0.75)
    loaded = again(fitted, tmp_path)
    del fitted.term_confidence_, fitted.edge_confidence_
    assert (loaded.term_confidence_ == 0.25).all()
    assert loaded.graph().edges["fox", "prey"]["confidence"] == 0.75


def test_the_header_is_that_of_the_contract(folder, fitted, y):
    header = json.loads((folder / "model.json").read_text())
    assert header["format"] == "graphgrad/2"
    assert header["dt"] == LOTKA.dt
    assert (header["dynamics"], header["substeps"]) == ("flow", 1)
    assert header["settings"]["dynamics"] == "auto"
    assert header["states"] == NAMES
    assert header["terms"] == ["1", *NAMES]
    assert header["degrees"] == [[0, 1, 0], [0, 0, 1]]
    assert header["coefficients"] == fitted.coef_.tolist()
    assert header["adjacency"] == fitted.adjacency_.astype(int).tolist()
    assert header["state_noise"] == fitted.state_noise_.tolist()
    assert header["observation_noise"] == fitted.observation_noise_.tolist()
    assert header["log_likelihood"] == fitted.log_likelihood_
    assert header["penalty"] == 1.0
    assert header["outcome"] == "converged"
    assert header["seed"] == 0
    assert header["settings"]["degree"] == 1
    assert set(header["versions"]) == {"graphgrad", "jax", "numpy"}
    assert header["data"]["hashes"] == [gg.storage.data_hash(y)]
    assert header["noise_kinds"]["state"] == "GaussianNoise"
    level, ends = header["intervals"]["level"], header["intervals"]["ends"]
    assert ends == fitted.confidence_intervals(level).tolist()


def test_degrees_of_terms_that_are_no_monomials_are_absent(tmp_path, y):
    library = gg.Polynomial(2, 1, root=2) + gg.trigonometric_terms(2)
    gg.GraphGrad(library=library).fit(y).save(tmp_path / "run")
    header = json.loads((tmp_path / "run" / "model.json").read_text())
    assert header["degrees"][0][1] == 0.5
    assert header["degrees"][0][-1] is None
    gg.GraphGrad(library=gg.trigonometric_terms(2)).fit(y).save(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "model.json").read_text())["degrees"] is None


def without(key):
    return lambda header: header.pop(key)


def changed(path, value):
    def change(header):
        *where, last = path
        for key in where:
            header = header[key]
        header[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("settings"), "settings"),
        (without("solution"), "solution"),
        (changed(("format",), "graphgrad/3"), "update graphgrad"),
        (
            changed(("form",), "rate"),
            "has 'form', 'rate', which is not in 'graphgrad/2'",
        ),
        (without("dynamics"), "dynamics"),
        (changed(("dynamics",), "rate"), "`dynamics` must be one of"),
        (changed(("dynamics",), "map"), "no array|must have shape|more arrays"),
        (changed(("terms", 1), "other"), "terms in model.json"),
        (changed(("coefficients", 0, 0), 7.0), "coefficients in model.json"),
        (changed(("states",), ["a", "b", "c"]), "not those of its states"),
        (changed(("states",), 3), "list of text"),
        (changed(("data", "timed"), [True]), "no array 'times_0'"),
        (changed(("data", "timed"), []), "not those of its columns"),
        (changed(("data", "columns"), ["prey"]), "not those of its columns"),
        (changed(("inputs",), ["u1"]), "must have 3 variables and 3 terms"),
        (changed(("settings", "degree"), 10**9), "must have 2 variables and 3 terms"),
        (changed(("settings", "degree"), 2), "must have 2 variables and 3 terms"),
        (changed(("settings", "degree"), "2"), "must have 2 variables"),
        (changed(("settings", "nothing"), 1), "nothing"),
        (changed(("settings", "engine"), {"kind": "OwnEngine"}), "is not a setting"),
        (changed(("settings", "engine"), {"kind": "Poisson"}), "engine"),
        (changed(("settings", "form"), "rate"), "`form` must be left out, got 'rate'"),
        (
            changed(("settings", "dynamics"), "other"),
            "dynamics in model.json are 'flow'",
        ),
        (changed(("settings", "dynamics"), "map"), "dynamics in model.json are 'flow'"),
        (changed(("settings", "dt"), -1.0), "dt"),
        (
            changed(
                ("settings", "library"),
                {"kind": "Polynomial", "n_states": 2, "degree": 99, "root": 99},
            ),
            "must have 2 variables and 3 terms",
        ),
        (changed(("settings", "states"), None), "states in model.json"),
        (changed(("solution", "kind"), "paper"), "no array"),
        (changed(("solution", "kind"), "other"), "other"),
    ],
)
def test_headers_that_do_not_fit_are_refused(folder, change, words):
    path = folder / "model.json"
    header = json.loads(path.read_text())
    change(header)
    path.write_text(json.dumps(header))
    with pytest.raises(ValueError, match=f"`path` must be a saved fit, .*({words})"):
        gg.GraphGrad.load(folder)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("solution_states", np.zeros((3, 2)), "'solution_states' must have shape"),
        ("solution_coefficients", np.zeros((2, 3), int), "of int64"),
        ("solution_coefficients", np.zeros((2, 3)), "coefficients in model.json"),
        ("solution_code", np.array(99), "outcome must be known, got 99"),
        ("solution_margin", None, "no array 'solution_margin'"),
        ("solution_substeps", np.array(10**9), "substeps must be from 1 to 4096"),
        ("solution_substeps", np.array(1.0), "of float64"),
        ("solution_noise_free", np.array(0), "of int64"),
        ("solution_found_by", np.array([99, 0]), "stage of the search must be known"),
        ("solution_certified", np.zeros(2), "of float64"),
        ("model_0", np.zeros(5), "'model_0' must have shape"),
        ("model_99", np.zeros(5), None),
        ("values_0", np.zeros((2, 2)), "at least 3 rows"),
        ("values_0", np.full((T, 2), np.nan), "an observation in every column"),
        ("values_0", np.full((T, 2), np.inf), "'values_0' must be finite"),
        ("model_1", np.full(2, np.nan), "'model_1' must be finite"),
        ("solution_state_noise", np.array([1, np.inf]), "'solution_state_noise' must"),
        ("solution_initial_mean", np.full(2, np.nan), "'solution_initial_mean' must"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(folder, name, value, words):
    header, arrays = gg.storage.read(folder)
    arrays.pop(name, None)
    if value is not None:
        arrays[name] = value
    gg.storage.write(folder, header, arrays)
    if words is None:  # unknown arrays are ignored
        assert gg.GraphGrad.load(folder).outcome_ == "converged"
        return
    with pytest.raises(ValueError, match=f"`path` must be a saved fit, .*{words}"):
        gg.GraphGrad.load(folder)


def test_the_dynamics_that_auto_came_to_are_kept(fitted, folder):
    """A fit with times may become a map."""
    assert fitted.dynamics_ == "flow"
    loaded = gg.GraphGrad.load(folder)
    assert (loaded.dynamics, loaded.dynamics_) == ("auto", "flow")
    y = fitted._checked().panel.series[0].values
    model = gg.GraphGrad(degree=1, dt=LOTKA.dt, states=NAMES, dynamics="map").fit(y)
    model.save(folder)
    header, arrays = gg.storage.read(folder)
    header["settings"]["dynamics"] = "auto"
    gg.storage.write(folder, header, arrays)
    loaded = gg.GraphGrad.load(folder)
    assert (loaded.dynamics, loaded.dynamics_) == ("auto", "map")
    same(loaded.coef_, model.coef_)


def before(kind):
    """A fit of format 1, what it gave when it was written, and its data."""
    folder = FIXTURES / f"format1-{kind}"
    told = json.loads((FIXTURES / f"format1-{kind}.json").read_text())
    header, arrays = gg.storage.read(folder)
    each = range(len(header["data"]["rows"]))
    data = {"y": [arrays[f"values_{i}"] for i in each]}
    if kind == "panel":
        data["times"] = [arrays[f"times_{i}"] for i in each]
        data["inputs"] = [arrays[f"inputs_{i}"] for i in each]
    else:
        data = {"y": data["y"][0]}
    return gg.GraphGrad.load(folder), told, data


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["map", "rate", "panel"])
def test_fits_of_format_1_do_what_they_did(kind):
    """Written before the change of the format, with their results beside them."""
    model, told, data = before(kind)
    assert model.dynamics_ == ("map" if kind == "map" else "difference")
    still = np.zeros(model.coef_.shape)
    if kind != "map":
        still[[0, 1], [model.terms_.index(name) for name in NAMES]] = 1
    np.testing.assert_array_equal(model.coef_, np.array(told["coef"]) - still)
    ends = np.array(told["intervals"]) - still[..., None]
    np.testing.assert_allclose(model.confidence_intervals(), ends, atol=1e-14)
    np.testing.assert_array_equal(model.standard_errors_, told["standard_errors"])
    assert model.outcome_ == told["outcome"] == "converged"
    assert model.log_likelihood_ == told["log_likelihood"]
    assert np.isclose(model.score(**data), told["score"], rtol=1e-12)
    more: dict[str, Any] = {}
    driven: dict[str, Any] = {}
    if kind == "panel":
        future = np.array(told["future_inputs"])
        more = {name: part[1] for name, part in data.items()}
        more["future_inputs"], driven = future, {"inputs": future}
    # Draws are others now, of the same distribution but for the uncertainty of noises.
    ahead = model.forecast(5, members=100, **more).states.members
    six = np.array(told["forecast"])
    error = 4 * ahead.std(axis=0) / np.sqrt(len(six))
    assert (np.abs(ahead.mean(axis=0) - six.mean(axis=0)) < error).all()
    alone = model.simulate(told["start"], 5, **driven)
    np.testing.assert_allclose(alone, told["simulate"], rtol=1e-12)


def test_equations_of_format_1_are_of_a_step():
    model, told, _ = before("map")
    assert model.equations() == told["equations"]
    model, told, _ = before("rate")
    # Then they were divided by dt, 0.1.
    assert told["equations"][0] == "dprey/dt = 0.9991 prey - 0.10044 prey fox"
    assert model.equations() == [
        "prey[t+1] - prey[t] = 0.09991 prey - 0.010044 prey fox",
        "fox[t+1] - fox[t] = -0.1501 fox + 0.007526 prey fox",
    ]


def test_fits_of_format_1_are_saved_in_the_present_one(tmp_path):
    model, _, data = before("panel")
    loaded = again(model, tmp_path)
    agree(model, loaded, **data)
    assert loaded.constraints == model.constraints
    assert loaded.constraints[0].term == "prey"
    assert np.isclose(loaded.constraints[0].value, 0.1)
    assert gg.storage.read(tmp_path / "fit.zip")[0]["dynamics"] == "difference"


def test_nothing_is_saved_before_a_fit(tmp_path):
    with pytest.raises(NotFittedError):
        gg.GraphGrad().save(tmp_path / "fit.zip")
    with pytest.raises(FileNotFoundError):
        gg.GraphGrad.load(tmp_path / "fit.zip")


def test_every_kind_comes_back_as_it_was(x64):
    """A file may name these classes; arrays keep their type."""
    examples = [
        gg.Polynomial(2, 3, root=2),
        gg.Polynomial(2, 1) + gg.exponential_terms(2, (-1, 0.5), of="differences"),
        gg.StudentT(jnp.array([0.1, 0.3], jnp.float32), df=3.0),
        gg.MultiplicativeNoise(0.07),
        *(gg.Poisson(), gg.NegativeBinomial(3.3), gg.Binomial([4, 5])),
        gg.ParticleSmoother(50, proposal="bootstrap", smoothing="backward"),
        gg.ParticleSmoother(50, resampling="soft"),
        gg.ParticleSmoother(50, smoothing="backward", resampling="optimal transport"),
        gg.ParticleSmoother(proposal="locally optimal"),
        gg.ParticleSmoother(proposal="linearised"),
        *(gg.EnsembleSmoother(30), gg.GaussianSmoother("unscented", iterations=2)),
        *(gg.L1(0.3), gg.L0(0.3), gg.Nuclear(0.3), gg.Unpenalised()),
        *(gg.known("a", "b", 1.0), gg.sign("a", "b", "-"), gg.bounds("a", "b", 0.0)),
        *(gg.only_edges([("a", "b")]), gg.conserve("a", "b")),
        *(gg.equal(("a", "b"), ("b", "a")), gg.velocity("x", "v")),
        gg.cyclic(["a", "b"], ["c", "d"], apart=[("a", "c")]),
        gg.state_space_model(
            gg.Polynomial(1, 1), state_noise=0.3, observation_noise=1.0
        ).transition.noise,
    ]
    named = set()
    for example in examples:
        plain = json.loads(json.dumps(encode_setting(example), allow_nan=False))
        named |= set(json.dumps(plain).split('"')) & set(kinds())
        back = decode_setting(plain)
        assert type(back) is type(example)
        assert str(back) == str(example).replace("weak_", "")
        same(jax.tree.leaves(back), jax.tree.leaves(example))
    assert named == set(kinds())
