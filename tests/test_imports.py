"""Public names of `import graphgrad`, which are imported on first access."""

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import graphgrad as gg

HEAVY = ("jax", "numpy", "sklearn", "polars", "rich", "matplotlib")


def _imports():
    """Packages and names of the imports that type checkers see."""
    tree = ast.parse(Path(gg.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    for node in block.body:
        if isinstance(node, ast.AnnAssign):  # `__version__`
            continue
        assert isinstance(node, ast.ImportFrom)
        yield from ((node.module, alias.name) for alias in node.names)


def test_type_checkers_and_python_see_the_same_names():
    imported = set(_imports())
    found = {(package, name) for name, package in gg._PACKAGE_OF.items()}
    assert found == {(package, name) for package, name in imported if package}
    assert {name for package, name in imported if not package} <= set(gg._PACKAGES)
    for package, name in imported:
        value = getattr(gg, name)
        assert name in dir(gg)
        if package:
            assert value is getattr(sys.modules[f"graphgrad.{package}"], name)
        else:
            assert value is sys.modules[f"graphgrad.{name}"]


def test_what_is_public_is_listed():
    everything = {}
    exec("from graphgrad import *", everything)
    assert set(gg.__all__) == set(everything) - {"__builtins__"}
    assert {name for _, name in _imports()} == {*gg.__all__} - {"__version__"}
    assert len(set(gg.__all__)) == len(gg.__all__)


def test_the_version_is_that_of_the_package():
    assert gg.__version__ == version("graphgrad")
    assert "__version__" in dir(gg)


def test_a_name_is_the_function_and_not_the_package():
    code = (
        "import graphgrad.equations, graphgrad.demo, graphgrad as gg; "
        "from graphgrad.equations import latex; "
        "assert callable(gg.equations) and gg.engines.ENGINES and gg.graph.to_dot"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="'graphgrad' has no attribute 'nothing'"):
        gg.nothing  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


def test_predictions_and_diagnostics_do_without_scikit_learn():
    code = (
        "import sys, graphgrad.prediction.evaluation, graphgrad.prediction.forecast; "
        "import graphgrad.diagnostics.comparison; "
        "import graphgrad.diagnostics.term_confidence; "
        "print('sklearn' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "False\n", run.stderr


@pytest.mark.slow
def test_commands_import_the_estimator_without_what_they_do_not_use():
    code = (
        "from graphgrad.cli.unused_imports import UNUSED, put_off; put_off(*UNUSED); "
        "import graphgrad.estimator, sys; "
        "print({'pandas.core', 'scipy.stats.distributions'} & {*sys.modules}); "
        "import pandas as pd, scipy.stats; from pandas.core.frame import DataFrame; "
        "assert pd.DataFrame is DataFrame; import pandas; assert pandas.DataFrame; "
        "print(scipy.stats.norm.cdf(0))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "set()\n0.5\n", run.stderr


@pytest.mark.parametrize(
    "module", ["graphgrad", "graphgrad.cli", "graphgrad.registries"]
)
def test_nothing_heavy_is_imported_before_it_is_needed(module):
    code = f"import {module}, sys; print({{*{HEAVY}}} & {{*sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "set()\n", run.stderr
