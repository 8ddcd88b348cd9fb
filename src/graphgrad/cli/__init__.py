"""The command line.

Commands import what they need when they run, so that help and mistakes are answered
without waiting for JAX.
"""

import typer

from .about import version
from .fit import fit
from .reproduce import reproduce
from .runs import compare, forecast, show
from .zoo import demo, simulate, systems

app = typer.Typer(
    help="Which quantities act on which, and by what equations.",
    epilog="""\b
Examples:
  graphgrad demo
  graphgrad simulate lorenz63 --steps 200 --dt 0.02 --out data.csv
  graphgrad fit data.csv --degree 2 --out run/
  graphgrad show run/
  graphgrad forecast run/ --steps 50 --out forecast.csv
""",
    no_args_is_help=True,
    # Plain help starts sooner, and mistakes take fewer lines.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (
    *(fit, show, forecast, compare, simulate, systems),
    *(demo, reproduce, version),
):
    app.command()(command)
