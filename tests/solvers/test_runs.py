"""The order of ascents and exchanges from a start, with programs that only count."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graphgrad.engines.gaussian import GaussianSmoother
from graphgrad.solvers.adaptive.annealing import Annealing
from graphgrad.solvers.adaptive.candidate import begin_exchange
from graphgrad.solvers.adaptive.plan import VERY_MANY_COEFFICIENTS, Plan
from graphgrad.solvers.adaptive.proposal import Maximum
from graphgrad.solvers.adaptive.settings import AdaptiveSteps
from graphgrad.solvers.adaptive.stages import MULTIPLIERS, multipliers_of
from graphgrad.solvers.adaptive.unknowns import Unknowns

MODULE = import_module("graphgrad.solvers.adaptive.runs")
FIRST, OTHER = np.array([[True, False]]), np.array([[True, True]])


def _only(kind: Any, **values: Any) -> Any:
    """A named tuple of which nothing else is looked at."""
    return kind(**(dict.fromkeys(kind._fields) | values))


def _start():
    one = jnp.ones(1)
    unknowns = Unknowns(jnp.asarray([[1.0, 0.0]]), one, one, one, one)
    return begin_exchange(unknowns, jnp.zeros((3, 1)))


def _calls(monkeypatch, ascents, exchanges, coefficients):
    """Calls made from one start, given what ascents and exchanges end in.

    Args:
        monkeypatch: Of pytest.
        ascents: For each ascent, whether it reaches a maximum, and what else changes.
        exchanges: For each exchange, the support that it proposes.
        coefficients: Their number.
    """
    calls, ascents, exchanges = [], iter(ascents), iter(exchanges)

    def ascend_once(key, state, plan, most, engine, learn, size, joint, others, rough):
        reached, changes = next(ascents)
        calls.append("ascend" if rough is None else ("rough" if rough else "exact"))
        assert not others  # the survey looks at terms beside the support
        more = {"sweeps": state.sweeps + 1, "sweeps_here": state.sweeps_here + 1}
        return state._replace(**(more | changes)), _only(Maximum, reached=reached)

    def survey_once(*_):
        calls.append("survey")
        return _only(Maximum, reached=True, limit=100)

    def exchange_terms(state, maximum, plan):
        calls.append(f"exchange {int(maximum.limit)}")
        support = next(exchanges)
        return _start()._replace(
            at=state.at._replace(support=support),
            best=state.best,
            sweeps=state.sweeps,
            done=np.array(np.array_equal(support, state.at.support)),
        )

    for function in (ascend_once, survey_once, exchange_terms):
        monkeypatch.setattr(MODULE, function.__name__, function)
    model = SimpleNamespace(n_states=2)
    plan = _only(Plan, base=np.zeros((2, coefficients // 2)), model=model)
    end = MODULE.exchange_each(
        jax.random.key(0),
        jax.tree.map(lambda leaf: leaf[None], _start()),
        plan,
        15,
        None,
        engine=GaussianSmoother(),
        learn=(),
        sweeps=150,
        watch=lambda _: None,
    )
    assert end.done.all()
    return calls


def test_ascents_are_exact_unless_coefficients_are_very_many(monkeypatch):
    ascents = [(False, {}), (True, {}), (True, {})]
    calls = _calls(monkeypatch, ascents, [OTHER, OTHER], 1000)
    exchange = ["survey", "exchange 100"]
    assert calls == ["ascend", "ascend", *exchange, "ascend", *exchange]


def test_the_last_ascent_is_exact(monkeypatch):
    ascents = [(False, {}), (True, {}), (True, {}), (False, {}), (True, {})]
    exchanges = [OTHER, OTHER, OTHER]
    calls = _calls(monkeypatch, ascents, exchanges, VERY_MANY_COEFFICIENTS)
    exchange = ["survey", "exchange 100"]
    assert calls[:3] == ["rough", "rough", "survey"]
    # Where no other terms are better it goes on from there.
    assert calls[4:] == ["rough", *exchange, "exact", "exact", *exchange]


def test_what_is_known_at_the_best_support_is_not_asked_again(monkeypatch):
    back = {
        "at": _start().at._replace(support=FIRST),
        "again": np.array(True),
        "sweeps_here": np.array(0),
        "limit": np.array(3),
    }
    ascents = [(True, {}), (False, back), (True, {})]
    exchanges = [OTHER, FIRST, FIRST]
    calls = _calls(monkeypatch, ascents, exchanges, VERY_MANY_COEFFICIENTS)
    assert calls[:3] == ["rough", "survey", "exchange 100"]
    assert calls[3:5] == ["rough", "exchange 3"]  # no survey between them
    assert calls[5:] == ["exact", "survey", "exchange 100"]


@pytest.mark.parametrize(
    ("number", "expected"), [(4, MULTIPLIERS), (2, MULTIPLIERS[1:3])]
)
def test_fewer_starts_have_the_middle_penalties(number, expected):
    zeros = np.zeros(number)
    starts = _only(Annealing, step=zeros, log_likelihood=zeros)
    assert multipliers_of(starts).tolist() == list(expected)


def test_brief_settings_do_less():
    brief = AdaptiveSteps(sweeps=99, long_gaps=False).brief()
    assert (brief.rounds, brief.anneal) == (1, 30)
    assert AdaptiveSteps(10).brief().anneal == 10
    assert (brief.ramp, brief.sweeps, brief.climb) == (20, 99, 15)
    assert not brief.long_gaps
