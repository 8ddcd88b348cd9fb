"""The command line.

Commands import what they need when they run, so that `--help` and errors in options do
not wait for JAX.
"""

import gc
import signal
import sys
from typing import Annotated, Any

import typer

from .fit import fit
from .known_systems import demo, simulate, systems
from .reproduce import reproduce
from .runs import compare, forecast, show
from .terminal import echo, reported

PARTS = ("jax", "jaxlib", "equinox", "numpy", "scikit-learn", "polars")
"""Packages whose versions `version --verbose` prints."""

# ClickException, which Typer vendors and does not export.
UsageError: Any = typer.BadParameter.__mro__[2]

app = typer.Typer(
    help="Sparse equations and interaction graphs from noisy time series.",
    epilog="""\b
Examples:
  graphgrad demo
  graphgrad simulate lorenz63 --steps 200 --dt 0.02 --out data.csv
  graphgrad fit data.csv --degree 2 --out run/
  graphgrad show run/
  graphgrad forecast run/ --steps 50 --out forecast.csv
""",
    # Plain help starts faster, and errors take fewer lines.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@reported
def version(
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Also versions of dependencies, and devices."
        ),
    ] = False,
) -> None:
    """Print the version.

    \b
    Examples:
      graphgrad version
      graphgrad version --verbose
    """  # noqa: D301
    import importlib.metadata
    import platform

    echo(importlib.metadata.version("graphgrad"))
    if not verbose:
        return
    echo(f"python {platform.python_version()} on {platform.platform()}")
    for part in PARTS:
        echo(f"{part} {importlib.metadata.version(part)}")
    import jax

    for device in jax.devices():
        echo(f"device {device.device_kind} ({device.platform}:{device.id})")


for command in (
    *(fit, show, forecast, compare, simulate, systems),
    *(demo, reproduce, version),
):
    app.command()(command)


def main() -> None:
    """The command `graphgrad`; errors in its options are one line."""
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except UsageError as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "graphgrad"
        message = " ".join(error.format_message().split()).rstrip(".")
        echo(f"graphgrad: {message}. See {command} --help.", err=True)
        status = 2
    except typer.Abort:
        status = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done
    # Else the interpreter looks for garbage in all modules before it ends: 0.7 s.
    gc.freeze()
    sys.exit(status)
