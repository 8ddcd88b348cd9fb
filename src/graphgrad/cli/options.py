"""Options of a fit: defaults, overridden by a file, then by the command line."""

import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from ..checks import check_at_least, check_choice, check_positive
from ..data.clock import SECONDS
from ..data.constraints import check_constraints
from ..files import check_path
from ..registries import DYNAMICS, ENGINES, SELECTIONS, SOLVERS

INPUTS_BETWEEN = ("held", "linear")

SYMMETRIES = ("auto", "cyclic", "exchangeable", "none")

DEFAULTS: dict[str, Any] = {
    "data": None,
    "out": "run",
    "degree": 2,
    "dt": None,
    "time_unit": "auto",
    "columns": None,
    "time": None,
    "missing": None,
    "day_first": None,
    "states": None,
    "inputs": None,
    "inputs_between": "held",
    "state_noise": "learn",
    "observation_noise": "learn",
    "dynamics": "auto",
    "engine": "auto",
    "solver": "adaptive",
    "penalty": None,
    "selection": "ebic",
    "particles": None,
    "constraints": None,
    "lags": 0,
    "hidden": 0,
    "seasons": None,
    "origin": "auto",
    "prior": None,
    "symmetry": "auto",
    "refits": 0,
    "seed": 0,
}


FLAGS = {
    "constraints": "constraint",
    "n_particles": "particles",
    "stability": "refits",
}
"""Options that are called otherwise than in Python."""


def with_flags(text: str) -> str:
    """Text with arguments of Python, in backticks, as options of the command line.

    Examples:
        >>> with_flags("Try `dynamics='map'`, or `known` in `constraints`.")
        'Try `--dynamics map`, or `known` in `--constraint`.'
    """

    def flag(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in DEFAULTS and name not in FLAGS:
            return found.group()
        option = FLAGS.get(name, name).replace("_", "-")
        return f"`--{option} {value}`" if value else f"`--{option}`"

    return re.sub(r"`(\w+)(?:='([^`']*)')?`", flag, text)


def read_config(path: Path) -> dict[str, Any]:
    """Read options from a TOML file; its paths are relative to its folder.

    Files without `time_unit` were written when dates were converted to seconds.
    """
    check_path("--config", path)
    if not path.is_file():
        raise ValueError(f"`--config` must be a file, got {path}: no such file.")
    try:
        options = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"`--config` must be TOML, got {path}: {error}.") from None
    refuse_form(f"form in {path}", options.pop("form", None))
    for name in options:
        check_choice(f"key in {path}", name, DEFAULTS)
    for name in ("data", "out"):
        if name in options:
            options[name] = str(path.parent / _text(name, options[name]))
    return {"time_unit": "second", **options}


def refuse_form(name: str, form: Any) -> None:
    """Reject `form`, the former name of `dynamics`."""
    if form is not None:
        now = "--dynamics" if name.startswith("--") else "dynamics"
        raise ValueError(
            f"`{name}` must be left out, got {form!r}. Use `{now}`: 'flow' for dx/dt, "
            "'difference' for x[t+1] - x[t] (what form 'rate' was), 'map' for x[t+1]."
        )


def gather(config: Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Collect and check all options.

    Args:
        config: A file of options, or None.
        given: Options of the command line; None if not given.
    """
    refuse_form("--form", given.get("form"))
    explicit = {name: value for name, value in given.items() if value is not None}
    options = {**DEFAULTS, **(read_config(config) if config else {}), **explicit}
    if options["data"] is None:
        raise ValueError("`data` must be given, got none. Name a CSV or Parquet file.")
    return {
        name: None if value is None else _CHECKS[name](name, value)
        for name, value in options.items()
    }


def write_config(path: Path, options: Mapping[str, Any], folder: Path) -> None:
    """Write options as TOML, so that the fit can be repeated.

    Args:
        path: File to write.
        options: Options from `gather`.
        folder: Final folder of the file, to which the path of the data is relative.
    """
    options = {name: value for name, value in options.items() if name != "out"}
    options["data"] = _relative(Path(options["data"]), folder)
    lines = [
        f"{name} = {_toml(value)}\n"
        for name, value in options.items()
        if value is not None
    ]
    head = "# Repeat this fit: graphgrad fit --config THIS_FILE --out FOLDER\n"
    path.write_text(head + "".join(lines), encoding="utf-8")


def _relative(data: Path, folder: Path) -> str:
    """Path of the data relative to a folder, or absolute on another drive."""
    try:
        return Path(os.path.relpath(data.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return data.resolve().as_posix()


def _toml(value: Any) -> str:
    if isinstance(value, str):
        # JSON strings are TOML strings, except for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_toml(k)} = {_toml(v)}' for k, v in value.items())}}}"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"`{name}` must be text, got {value!r}.")
    return value


def _either(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"`{name}` must be true or false, got {value!r}.")
    return value


def _names(name: str, value: Any) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else value
    if not (isinstance(parts, list) and all(isinstance(p, str) for p in parts)):
        raise ValueError(f"`{name}` must be names, got {value!r}. For instance x,y.")
    names = [part.strip() for part in parts]
    if len(set(names)) < len(names) or "" in names:
        raise ValueError(f"`--{name}` must be distinct names, got {','.join(names)!r}.")
    return names


def _noise(name: str, value: Any) -> Any:
    if value == "learn":
        return value
    parts = value.split(",") if isinstance(value, str) else value
    remedy = "Give a variance, or one per column with commas, or 'learn'."
    if isinstance(parts, list) and len(parts) != 1:
        return [_variance(name, part, remedy) for part in parts]
    only = parts[0] if isinstance(parts, list) else parts
    return _variance(name, only, remedy)


def _variance(name: str, value: Any, remedy: str) -> float:
    # Only a flow may have no process noise, which the estimator checks.
    if name == "state_noise" and str(value).strip() in ("0", "0.0"):
        return 0.0
    return check_positive(_flag(name), value, remedy)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _whole(least: int, remedy: str) -> Callable[[str, Any], int]:
    return lambda name, value: check_at_least(_flag(name), value, least, remedy)


def _whole_or_text(least: int, remedy: str) -> Callable[[str, Any], int]:
    """For options that may also be text, such as auto: numbers come as text, too."""

    def read(name: str, value: Any) -> int:
        if isinstance(value, str) and value.isascii() and value.strip().isdecimal():
            value = int(value)
        return _whole(least, remedy)(name, value)

    return read


def _positive(remedy: str) -> Callable[[str, Any], float]:
    return lambda name, value: check_positive(_flag(name), value, remedy)


def _one_of(*choices: Iterable[str]) -> Callable[[str, Any], str]:
    return lambda name, value: check_choice(_flag(name), value, chain(*choices))


def _by_name(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """Check one number, numbers by name such as x=2,u=3 or a table, or auto."""
    named = _named(check)

    def read(name: str, value: Any) -> Any:
        if isinstance(value, dict) or (isinstance(value, str) and "=" in value):
            return named(name, value)
        return value if value == "auto" else check(name, value)

    return read


def _named(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """Check numbers by name: text such as x=2,u=3 or "x^2=0.1", or a table."""

    def read(name: str, value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            pairs = [part.rpartition("=") for part in value.split(",")]
            value = {key.strip(): number for key, _, number in pairs}
        if not isinstance(value, dict) or "" in value:
            raise ValueError(
                f"`{_flag(name)}` must be numbers by name, got {value!r:.60}. For "
                "instance x=2,y=0.5."
            )
        return {key: check(name, number) for key, number in value.items()}

    return read


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            f"`{_flag(name)}` must be finite numbers by name, got {value!r}. For "
            "instance x=273.15."
        )
    return number


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "data": _text,
    "out": _text,
    "degree": _whole(1, "Most systems are of degree 2."),
    "dt": _positive("Leave it out for the median interval."),
    "time_unit": _one_of(["auto"], SECONDS),
    "columns": _names,
    "time": _text,
    "missing": _names,
    "day_first": _either,
    "states": _names,
    "inputs": _names,
    "state_noise": _noise,
    "observation_noise": _noise,
    "dynamics": _one_of(["auto"], DYNAMICS),
    "inputs_between": _one_of(INPUTS_BETWEEN),
    "engine": _one_of(["auto"], ENGINES),
    "solver": _one_of(["adaptive"], SOLVERS),
    "penalty": _positive("Leave it out for 1."),
    "selection": _one_of(SELECTIONS),
    "particles": _whole(3, "Leave it out for 100."),
    "constraints": check_constraints,
    "lags": _by_name(_whole_or_text(0, "Give a number, names as x=2,u=3, or auto.")),
    "hidden": lambda name, value: (
        value
        if value == "auto"
        else _whole_or_text(0, "Give a number, or auto.")(name, value)
    ),
    "seasons": _by_name(_positive("Give a period, names as year=365.25, or auto.")),
    "origin": lambda name, value: (
        value if value == "auto" else _named(_finite)(name, value)
    ),
    "prior": _named(_positive("Give a probability, as x1^3=0.01 or degree 2=0.1.")),
    "symmetry": _one_of(SYMMETRIES),
    "refits": _whole(0, "20 give a rough estimate; 0 for none."),
    "seed": _whole(0, "Use any number from 0."),
}
