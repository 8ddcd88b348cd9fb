"""Commands about known systems: `systems`, `simulate`, `demo`."""

import csv
from pathlib import Path
from typing import Annotated, Any

import typer

from ..registries import SYSTEMS
from .terminal import echo, interruptible, reported
from .unused_imports import UNUSED, put_off

SCHEMES = ("flow", "euler")
DEMOS = ("lorenz", "hare-lynx")


@reported
def systems() -> None:
    """List the known systems.

    \b
    Examples:
      graphgrad systems
    """  # noqa: D301
    width = max(map(len, SYSTEMS))
    for name, function in SYSTEMS.items():
        line = (function.__doc__ or "").splitlines()[0]
        echo(f"{name:<{width}}  {line}")


@reported
def simulate(
    system: Annotated[
        str,
        typer.Argument(help="A name that `graphgrad systems` lists.", metavar="SYSTEM"),
    ],
    steps: Annotated[int, typer.Option(help="Number of observations.")] = 200,
    dt: Annotated[
        float | None,
        typer.Option(help="Time from row to row.", show_default="the system's own"),
    ] = None,
    scheme: Annotated[
        str,
        typer.Option(
            help="flow integrates accurately; euler takes the paper's step of dt."
        ),
    ] = "flow",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A parameter of the system: rho=35.", metavar="NAME=VALUE"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="CSV file to write.", show_default="standard output"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file if it exists.")
    ] = False,
) -> None:
    """Simulate noisy observations of a known system.

    \b
    Examples:
      graphgrad simulate lorenz63 --steps 200 --dt 0.02 --seed 0 --out data.csv
      graphgrad simulate lorenz96 --set n_states=5 --set forcing=8
      graphgrad simulate lorenz63 --dt 0.02 --scheme euler
    """  # noqa: D301
    from ..checks import check_at_least, check_choice, check_positive
    from .folder import check_file, new_file

    check_at_least("--steps", steps, 1, "It is the number of observations.")
    check_at_least("--seed", seed, 0, "Use any number from 0.")
    check_choice("--scheme", scheme, SCHEMES)
    check_choice("SYSTEM", system, SYSTEMS)
    options = dict(_setting(text) for text in setting or [])
    if dt is not None:
        remedy = "It is the time between two observations."
        options["dt"] = check_positive("--dt", dt, remedy)
    check_file(out, force=force)
    names, times, rows = interruptible(
        lambda: _draw(system, steps, seed, scheme, options)
    )
    with new_file(out) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["t", *names])
        writer.writerows([t, *row] for t, row in zip(times, rows, strict=True))
    if out is not None:
        echo(f"Wrote {out}: {steps} rows of {', '.join(names)}.")


@reported
def demo(
    name: Annotated[
        str, typer.Argument(help="lorenz or hare-lynx.", metavar="NAME")
    ] = "lorenz",
    out: Annotated[
        str | None,
        typer.Option(help="Folder to write.", show_default="demo, demo-2, ..."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the fit.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run in the folder.")
    ] = False,
) -> None:
    """Fit bundled data and compare the equations with those of textbooks.

    lorenz: simulated Lorenz system with noise and gaps. hare-lynx: pelts of hares and
    lynxes traded by the Hudson's Bay Company from 1900 to 1920.

    \b
    Examples:
      graphgrad demo
      graphgrad demo hare-lynx
      graphgrad demo --out lorenz/
    """  # noqa: D301
    from ..checks import check_choice

    check_choice("NAME", name, DEMOS)
    put_off(*UNUSED)
    from ..demo import DEMONSTRATIONS
    from .folder import free_name
    from .job import fit_and_write
    from .options import gather, with_flags
    from .summary import graph_lines

    chosen = DEMONSTRATIONS[name]
    folder = free_name(Path("demo")) if out is None else Path(out)
    echo(chosen.question)
    given = {"data": str(chosen.data), "out": str(folder), "seed": seed}

    def show(fitted: Any) -> None:
        echo("\nEquations")
        for line in chosen.beside_truth(fitted):
            echo(line)
        echo("")
        for line in graph_lines(fitted.adjacency_, fitted.state_names_):
            echo(line)
        echo(f"\nOutcome: {fitted.outcome_}. {with_flags(fitted.advice_)}")

    options = gather(None, given)
    _, folder, fault = fit_and_write(options, force=force, echo=echo, show=show)
    if fault:
        raise ValueError(fault)
    other = next(each for each in DEMOS if each != name)
    echo(f"\nTo view the report, open {folder / 'report.html'} in a browser.")
    echo("Try next:")
    echo(f"  graphgrad forecast {folder} --steps 50")
    echo(f"  graphgrad demo {other}")
    echo("  graphgrad simulate lotka_volterra --steps 200 --out data.csv")
    echo("  graphgrad fit data.csv --out run/        or your own file")


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    for kind in (int, float):
        try:
            return name.strip(), kind(value)
        except ValueError:
            continue
    fault = f"{value!r} is not a number" if equals else "there is no ="
    raise ValueError(f"`--set` must be NAME=VALUE, got {text!r}: {fault}.")


def _draw(
    name: str, steps: int, seed: int, scheme: str, options: dict[str, Any]
) -> tuple[tuple[str, ...], list[str], list[list[float]]]:
    """Names of the states, times, and observations."""
    import jax
    import numpy as np

    from ..systems import get

    with jax.enable_x64(True):
        system_key, data_key = jax.random.split(jax.random.key(seed))
        system = get(name, key=system_key, **options)
        drawn = system.simulate(data_key, steps, scheme=scheme, bounded=True)
        # Rounded to twelve digits, so that 3 x 0.1 is 0.3.
        times = [f"{system.dt * (i + 1):.12g}" for i in range(steps)]
        return system.states, times, np.asarray(drawn.observations).tolist()
