"""The command line."""

import typer

app = typer.Typer(
    help="Which quantities act on which, and by what equations.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def main() -> None:
    """Which quantities act on which, and by what equations."""


@app.command()
def demo(seed: int = typer.Option(0, help="Seed of the data and of the fit.")) -> None:
    """Noisy data of a known system in; equations, graph and scores out."""
    from .demo import run_demo

    run_demo(seed, say=typer.echo)


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version

    typer.echo(version("graphgrad"))
