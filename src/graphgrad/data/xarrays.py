"""Arrays and datasets of xarray as columns with times; xarray is not imported."""

from typing import Any

import numpy as np

from .clock import Stamps
from .stamps import ALONE, as_stamps, is_clock


def is_xarray(part: Any) -> bool:
    """Whether an object is a DataArray or Dataset of xarray."""
    return all(hasattr(part, name) for name in ("dims", "coords", "isel", "sizes"))


def xarray_columns(
    part: Any, name: str
) -> tuple[np.ndarray, tuple[str, ...] | None, Stamps | None]:
    """Values, names of the columns, and times, along the dimension of time.

    That is the dimension with dates or a name of times; if there is none, the first.

    Args:
        part: A DataArray of one or two dimensions, or a Dataset of one dimension.
        name: Name of the argument, for error messages.
    """
    along = next((d for d in part.dims if _is_time(part, str(d))), None)
    stamps = None
    if along is not None and along in part.coords:
        unit = along.lower() if along.lower() in ALONE else None
        times = np.asarray(part.coords[along].values)
        stamps = as_stamps(f"coordinate {along}", times, name, unit=unit)
    along = next(iter(part.dims)) if along is None else along
    if hasattr(part, "data_vars"):
        names = [str(n) for n, v in part.data_vars.items() if tuple(v.dims) == (along,)]
        other = [str(n) for n in part.data_vars if str(n) not in names]
        if other or not names:
            raise ValueError(
                f"`{name}` must have variables along {along!r} alone, got "
                f"{other or 'none'}. Select them, and one place with `isel`."
            )
        columns = [np.asarray(part[n].values, float) for n in names]
        return np.stack(columns, axis=1), tuple(names), stamps
    if len(part.dims) > 2:
        raise ValueError(
            f"`{name}` must have one or two dimensions, got {list(part.dims)}. Select "
            "one place with `isel`."
        )
    values = np.asarray(part.transpose(along, ...).values, float)
    other = next((d for d in part.dims if d != along), None)
    if other is None:
        return values[:, None], (part.name,) if part.name else None, stamps
    labels = part.coords[other].values.tolist() if other in part.coords else []
    named = bool(labels) and all(isinstance(label, str) for label in labels)
    return values, tuple(labels) if named else None, stamps


def _is_time(part: Any, dim: str) -> bool:
    if is_clock(dim) or dim.lower() in ALONE:
        return True
    return dim in part.coords and part.coords[dim].dtype.kind in "mM"
