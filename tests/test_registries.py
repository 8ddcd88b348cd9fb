"""Registries are the only lists of choices: one line, and all that lists choices knows.

The toys are added the way CONTRIBUTING says: a class of its own, and one line.
"""

import json
from importlib import import_module

import jax
import numpy as np
import pytest
from jaxtyping import Array, Float, PRNGKeyArray
from typer.testing import CliRunner

import graphgrad as gg
from graphgrad import registries
from graphgrad.cli import app, options
from graphgrad.engines import AbstractEngine, FilteredDistributions, Sweep
from graphgrad.estimator import fitting
from graphgrad.model import StateSpaceModel
from graphgrad.registries import MOTIONS, left_side
from graphgrad.report.words import DYNAMICS_WORDS
from graphgrad.selection import Choice
from helpers.stubs import least_squares

ROOMS = {
    "model": ["DYNAMICS"],
    "engines": ["ENGINES", "PROPOSALS", "RESAMPLING", "DIFFERENTIABLE"],
    "penalties": ["PENALTIES"],
    "solvers": ["SOLVERS", "CRITERIA"],
    "selection": ["SELECTIONS"],
    "systems": ["SYSTEMS"],
}
NAMES = [name for names in ROOMS.values() for name in names]
LOTKA = gg.systems.lotka_volterra()


class Toy(AbstractEngine):
    """The Gaussian engine under another name, with a setting of its own."""

    rounds: int = 1

    @property
    def stochastic(self) -> bool:
        return False

    def sweep(
        self,
        key: PRNGKeyArray,
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
        previous: Float[Array, "T_plus_1 Nx"] | None = None,
        unsure=None,
    ) -> Sweep:
        return gg.GaussianSmoother().sweep(key, model, ys, previous, unsure)

    def filter(
        self, key: PRNGKeyArray, model: StateSpaceModel, ys: Float[Array, "T Ny"]
    ) -> FilteredDistributions:
        return gg.GaussianSmoother().filter(key, model, ys)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(registries.ENGINES, "toy", Toy)
    monkeypatch.setattr(fitting, "adaptive", least_squares)


@pytest.fixture
def y():
    with jax.enable_x64(True):
        return np.asarray(LOTKA.simulate(jax.random.key(0), steps=20).observations)


@pytest.mark.parametrize("name", NAMES)
def test_every_line_leads_to_an_object(name):
    registry = getattr(registries, name)
    assert len(registry) > 0
    assert all(callable(registry[choice]) for choice in registry)
    room = next(room for room, names in ROOMS.items() if name in names)
    assert getattr(import_module(f"graphgrad.{room}"), name) is registry


def test_no_registry_is_left_out():
    found = {
        name
        for name, value in vars(registries).items()
        if isinstance(value, registries.Registry)
    }
    assert found == set(NAMES)


def test_an_engine_is_one_class_and_one_line(toy, y, tmp_path):
    """By name: fitted, used, saved by name and as an object, listed when mistaken."""
    model = gg.GraphGrad(degree=1, engine="toy").fit(y)
    assert isinstance(model._fit.engine, Toy)
    model.save(tmp_path / "by_name.zip")
    again = gg.GraphGrad.load(tmp_path / "by_name.zip")
    assert isinstance(again._fit.engine, Toy)
    np.testing.assert_array_equal(again.smooth(y).mean, model.smooth(y).mean)
    ready = gg.GraphGrad(degree=1, engine=Toy(rounds=3)).fit(y)
    ready.save(tmp_path / "as_object.zip")
    assert gg.GraphGrad.load(tmp_path / "as_object.zip").engine == Toy(rounds=3)
    with pytest.raises(ValueError, match=r"one of 'auto', .*, 'toy', got 'other'"):
        gg.GraphGrad(engine="other").fit(y)


def test_the_command_line_takes_what_is_in_the_registry(toy, tmp_path, monkeypatch):
    assert options.gather(None, {"data": "y.csv", "engine": "toy"})["engine"] == "toy"
    monkeypatch.setitem(registries.SYSTEMS, "toy", gg.systems.sir)
    run = CliRunner().invoke(app, ["simulate", "toy", "--steps", "3"])
    assert run.exit_code == 0, run.output
    assert run.stdout.splitlines()[0] == "t,S,I,R"
    run = CliRunner().invoke(app, ["systems"])
    assert run.stdout.splitlines()[-1].startswith("toy ")


@pytest.mark.slow
def test_a_solver_is_one_function_and_one_line(y, monkeypatch, tmp_path):
    asked = []

    def solve(*arguments, **options):
        asked.append(sorted(options))
        return gg.b_graphgrad(
            *arguments, settings=gg.GradientSteps(2), callback=options["callback"]
        )

    monkeypatch.setitem(registries.SOLVERS, "toy", solve)
    noises = {"state_noise": 0.1, "observation_noise": 0.1}
    model = gg.GraphGrad(degree=1, solver="toy", **noises).fit(y)
    assert asked == [["callback", "settings"]]
    assert model.dynamics_ == "map"
    model.save(tmp_path / "fit.zip")
    assert gg.GraphGrad.load(tmp_path / "fit.zip").solver == "toy"


def test_a_criterion_is_one_function_and_one_line(y, monkeypatch):
    asked = []

    def by_toy(key, ys, model, penalties, share, options):
        asked.extend(penalties)
        best = least_squares(key, ys, model, **options)
        return Choice(0, penalties, np.zeros(5), best)

    monkeypatch.setitem(registries.SELECTIONS, "toy", by_toy)
    gg.GraphGrad(degree=1, selection="toy").fit(y)
    assert asked == [0.25, 0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("name", ["engine", "solver", "selection", "dynamics"])
def test_help_lists_the_choices(name):
    """Of Python, where it is text; of the shell, where it is made."""
    registry = {"engine": "ENGINES", "solver": "SOLVERS", "selection": "SELECTIONS"}
    choices = getattr(registries, registry.get(name, "DYNAMICS"))
    shell = CliRunner().invoke(app, ["fit", "--help"]).stdout
    for choice in choices:
        assert f'"{choice}"' in (gg.GraphGrad.__doc__ or "")
        assert choice in shell


def test_every_dynamics_can_be_read():
    """Each kind of dynamics has a text and a left side."""
    assert all(left_side("x", kind) for kind in registries.DYNAMICS)
    assert set(DYNAMICS_WORDS) == set(MOTIONS) == set(registries.DYNAMICS)


def test_names_that_are_not_text_are_not_choices():
    """As a damaged file may have them."""
    assert json.loads("[1]") not in registries.DYNAMICS
    assert None not in registries.DYNAMICS
