"""The fast part of the campaigns: `make soak` runs them at length."""

import pytest

from graphgrad.estimator import fitting
from helpers.outcomes import faults
from helpers.stubs import least_squares
from soak import headers
from soak.samples import saved_runs


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Fits by a stub."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)


def test_edited_headers_load_or_are_refused(tmp_path):
    found = headers.campaign(saved_runs(tmp_path), most=90)
    assert faults(found) == []
    assert found["error"] > 20
    assert found["answer"] > 20
