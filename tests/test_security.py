"""The package loads no pickles, runs no text, and opens no connections."""

import ast
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import graphgrad as gg
from helpers import CACHE, ROOT

SOURCES = sorted((ROOT / "src" / "graphgrad").rglob("*.py"))
PICKLES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
NETWORK = {
    *("socket", "ssl", "urllib", "http", "ftplib", "smtplib", "telnetlib"),
    *("requests", "httpx", "aiohttp", "urllib3", "xmlrpc", "webbrowser"),
}
RUNNING = {"eval", "exec", "compile", "__import__"}
ALLOWED = {
    # The source of `numpy_function`, in which names of data are literals and comments.
    ("equations/source.py", "exec"),
    # `openssl`, with constant arguments.
    ("study/credentials.py", "subprocess"),
    # Python, which reads a Parquet file, with a constant program.
    ("data/parquet.py", "subprocess"),
}


def _used(tree):
    """Modules that are imported and built-in functions that are called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


@pytest.mark.parametrize(
    "forbidden", [PICKLES, NETWORK, RUNNING, {"subprocess"}], ids=["p", "n", "r", "s"]
)
def test_what_the_package_does_not_use(forbidden):
    found = {
        (path.relative_to(ROOT / "src" / "graphgrad").as_posix(), name)
        for path in SOURCES
        for name in _used(ast.parse(path.read_text(encoding="utf-8")))
        if name in forbidden
    }
    assert found <= ALLOWED


OFFLINE = """
import socket, sys

import numpy as np

REFUSED = {f"socket.{name}" for name in ("bind", "connect", "sendto", "sendmsg")}
REFUSED |= {f"socket.{name}" for name in ("getaddrinfo", "gethostbyname")}
asked = []

def refuse(event, _):
    if event in REFUSED:
        asked.append(event)
        raise PermissionError(event)

sys.addaudithook(refuse)
import graphgrad as gg

model = gg.GraphGrad(degree=1).fit(np.random.default_rng(0).normal(size=(20, 1)))
assert model.forecast(2, members=10).mean.shape == (2, 1)
model.report(sys.argv[1])
assert asked == [], asked  # even if the error was caught
for use in (
    lambda: socket.create_connection(("127.0.0.1", 9)),
    lambda: socket.socket().connect(("127.0.0.1", 9)),
):
    try:
        use()
    except PermissionError:
        pass
assert asked == ["socket.getaddrinfo", "socket.connect"], asked
"""
"""A fit, a forecast and a report, where what Python asks of a network is an error."""


@pytest.mark.slow
def test_a_fit_asks_nothing_of_the_network(tmp_path):
    page = tmp_path / "report.html"
    # Of the programs that tests have compiled, it reads those that it can.
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(CACHE)}
    run = subprocess.run(
        [sys.executable, "-c", OFFLINE, page],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert run.returncode == 0, run.stderr
    assert page.stat().st_size > 10_000


def test_arrays_are_read_without_pickle():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            options = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if called in ("np.load", "np.save", "np.lib.format.read_array"):
                assert options.get("allow_pickle") == "False", f"{path}: {called}"
            if called in ("os.system", "os.popen") or options.get("shell") == "True":
                pytest.fail(f"{path}: {called}")


@pytest.mark.parametrize(
    "name",
    [
        '"""\nraise SystemExit\n"""',
        "x\nraise SystemExit",
        "x\rraise SystemExit",
        "x\\",
        "x\u2028raise SystemExit",
        "{__import__('os')}",
    ],
)
@pytest.mark.parametrize("dynamics", ["map", "flow"])
def test_names_are_not_run_as_code(name, dynamics):
    library = gg.Polynomial(2, 1)
    call = gg.numpy_function(np.ones((2, 3)), library, [name, "y"], dynamics=dynamics)
    given = ([1.0, 2.0],) if dynamics == "map" else (0.0, [1.0, 2.0])
    assert call(*given).tolist() == [4.0, 4.0]


def test_what_is_installed_has_versions_and_hashes():
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    whole = re.sub(r"\\\n\s*", "", text)
    listed = [line for line in whole.splitlines() if not line.lstrip().startswith("#")]
    assert len(listed) > 100
    for line in listed:
        assert re.fullmatch(
            r"[\w.-]+==[\w.]+ (; [^\\]+ )?(--hash=sha256:[0-9a-f]{64} ?)+", line
        ), line
    setup = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--require-hashes -r requirements.lock" in setup
