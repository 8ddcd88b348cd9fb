"""Write header and arrays of a fit atomically; names and hashes of the format."""

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..files import beside, check_parent, put, write_whole

FORMAT = "graphgrad/2"
FORMER = "graphgrad/1"
HEADER, ARRAYS = "model.json", "arrays.npz"


def write(
    path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a header and arrays atomically.

    Args:
        path: A file if it ends in `.zip`, else a folder, whose other files are kept.
        header: Text, finite numbers, booleans, None, and lists and dictionaries of
            them. `"format"` is added.
        arrays: Numeric or boolean arrays by name; NaN payloads are kept.

    Examples:
        >>> import graphgrad as gg, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "fit.zip"
        >>> gg.storage.write(path, {"states": ["prey"]}, {"coefficients": np.eye(2)})
        >>> header, arrays = gg.storage.read(path)
        >>> header
        {'format': 'graphgrad/2', 'states': ['prey']}
        >>> arrays["coefficients"].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    path = Path(path)
    checked = {name: _array(name, value) for name, value in arrays.items()}
    files = {
        ARRAYS: _archive({f"{n}.npy": _npy(a) for n, a in checked.items()}),
        HEADER: _header(header, checked),
    }
    single = path.suffix == ".zip"
    if path.exists() and path.is_dir() == single:
        found = "a folder" if path.is_dir() else "a file"
        raise ValueError(
            f"`path` must be a {'file' if single else 'folder'}, got {found}: {path}. "
            "Names that end in .zip are files, all others are folders."
        )
    check_parent(path)
    if single:
        write_whole(path, _archive(files, compress=False))
    elif not path.exists():
        with beside(path) as temporary:
            temporary.mkdir()
            for name, content in files.items():
                put(temporary / name, content)
            os.replace(temporary, path)
    else:
        # The header is last: its hashes reveal an interrupted write to the reader.
        with beside(path / ARRAYS) as first, beside(path / HEADER) as second:
            put(first, files[ARRAYS])
            put(second, files[HEADER])
            os.replace(first, path / ARRAYS)
            os.replace(second, path / HEADER)


def _header(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    if header.get("format", FORMAT) != FORMAT:
        raise ValueError(
            f"`header['format']` must be {FORMAT!r}, got {header['format']!r}. Leave "
            "it out."
        )
    if "arrays" in header:
        raise ValueError(
            "`header` must have no 'arrays', got one. Give them as `arrays`."
        )
    if "form" in header:
        raise ValueError(
            f"`header` must have no 'form', got {header['form']!r}. Use 'dynamics'."
        )
    check_plain("header", dict(header))
    whole = {"format": FORMAT, **header}
    whole["arrays"] = {name: data_hash(array) for name, array in arrays.items()}
    return (json.dumps(whole, indent=1, allow_nan=False) + "\n").encode("ascii")


def _array(name: Any, value: Any) -> np.ndarray:
    if not storable_name(name):
        raise ValueError(
            f"`arrays` must be named like variables, got {name!r}. Use letters, digits "
            "and underscores."
        )
    array = np.asarray(value)
    if not storable_dtype(array.dtype):
        raise ValueError(
            f"`arrays[{name!r}]` must hold numbers or booleans, got "
            f"{array.dtype}. Text belongs in the header."
        )
    return array


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=False)
    return out.getvalue()


def _archive(files: Mapping[str, bytes], *, compress: bool = True) -> bytes:
    """A zip archive without timestamps: the same files give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(
                zipfile.ZipInfo(name),
                content,
                zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED,
            )
    return out.getvalue()


def data_hash(array: Any) -> str:
    """SHA-256 of the type, shape and bytes of an array.

    Examples:
        >>> data_hash(np.zeros(2)) == data_hash(np.zeros(2))
        True
        >>> data_hash(np.zeros(2)) == data_hash(np.zeros((1, 2)))
        False
    """
    plain = np.asarray(array)
    if plain.dtype.hasobject:
        raise ValueError(
            f"`array` must hold numbers, got {plain.dtype}. Convert it with `astype`."
        )
    found = hash_of(plain.dtype, plain.shape)
    found.update(np.ascontiguousarray(plain).tobytes())
    return found.hexdigest()


def hash_of(dtype: np.dtype, shape: tuple[int, ...]) -> Any:
    """The hash of an array, to be updated with its bytes."""
    return hashlib.sha256(f"{dtype.str} {shape} ".encode())


def check_plain(name: str, value: Any) -> None:
    """Check that JSON can represent a value exactly."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ValueError(f"`{name}` must have text as keys, got {key!r}.")
            check_plain(f"{name}[{key!r}]", inner)
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            check_plain(f"{name}[{i}]", inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            f"`{name}` must be finite, got {value}. Use None, or an array."
        )
    elif value is not None and type(value) not in (str, bool, int, float):
        raise ValueError(
            f"`{name}` must be text, a number, a boolean, None, a list or a "
            f"dictionary, got {type(value).__name__}. Put arrays into `arrays`."
        )


def storable_name(name: Any) -> bool:
    """Whether an array may have this name: an ASCII identifier."""
    return isinstance(name, str) and name.isidentifier() and name.isascii()


def storable_dtype(dtype: np.dtype) -> bool:
    """Whether an array may have this type: numbers of portable sizes."""
    sizes = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}
    return dtype.itemsize in {**sizes, "c": (8, 16)}.get(dtype.kind, ())
