"""What `pyproject.toml`, the lock, the changelog and the extras promise."""

import re
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

from graphgrad.extras import MissingExtraError
from graphgrad.study.cluster import local_cluster
from graphgrad.study.methods.sindy import sindy
from helpers import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _required(extra=None):
    """Requirements of an extra, through those that it names."""
    extras = PROJECT["optional-dependencies"]
    for line in extras[extra] if extra else PROJECT["dependencies"]:
        requirement = Requirement(line)
        if requirement.name != "graphgrad":
            yield requirement
        for inner in sorted(requirement.extras & set(extras)):
            yield from _required(inner)


def test_whoever_develops_has_every_extra():
    """But for the one that `benchmarks/extract_flows.py` alone needs."""
    needed = {
        requirement.name
        for extra in PROJECT["optional-dependencies"]
        if extra != "benchmarks"
        for requirement in _required(extra)
    }
    assert needed == {requirement.name for requirement in _required("dev")}


def test_the_lock_has_what_is_required():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line.removesuffix("\\") for line in lines if re.match(r"\w", line)]
    pinned = [Requirement(pin) for pin in pins]
    for requirement in [*_required(), *_required("dev")]:
        found = [pin for pin in pinned if pin.name == requirement.name]
        assert found, f"{requirement} is not in the lock: make lock"
        for pin in found:
            (version,) = [one.version for one in pin.specifier]
            assert requirement.specifier.contains(version), f"{pin}: make lock"


def test_the_changelog_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", h) for h in headings)
    assert headings[0].split()[0] == PROJECT["version"]
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed"}


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("distributed", "cluster", lambda: local_cluster(1).__enter__()),
        ("pysindy", "peers", sindy),
    ],
)
def test_what_is_missing_is_named_with_its_extra(module, extra, use, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'install "graphgrad\[{extra}\]"'):
        use()
