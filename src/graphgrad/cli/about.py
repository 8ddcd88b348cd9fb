"""`graphgrad version`."""

from typing import Annotated

import typer

from .errors import reported

PARTS = ("jax", "jaxlib", "equinox", "numpy", "scikit-learn", "polars")
"""Packages whose versions matter where results differ."""


@reported
def version(
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Also versions of parts, and devices."),
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

    typer.echo(importlib.metadata.version("graphgrad"))
    if not verbose:
        return
    typer.echo(f"python {platform.python_version()} on {platform.platform()}")
    for part in PARTS:
        typer.echo(f"{part} {importlib.metadata.version(part)}")
    import jax

    for device in jax.devices():
        typer.echo(f"device {device.device_kind} ({device.platform}:{device.id})")
