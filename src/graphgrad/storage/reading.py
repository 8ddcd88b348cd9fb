"""Read a saved fit, with checks against damaged and hostile files."""

import io
import json
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from .format1 import from_format_1
from .writing import (
    ARRAYS,
    FORMAT,
    FORMER,
    HEADER,
    check_plain,
    data_hash,
    hash_of,
    storable_dtype,
    storable_name,
)

# Default limit on the size of a file.
MAX_BYTES = 2**31
# Bytes of an array that are read at a time for its hash.
BLOCK = 2**20
# Errors of the standard library for damaged or foreign archives.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,  # of seeking to a place before the file
    RuntimeError,
    ValueError,
)


def read(
    path: str | Path, *, max_bytes: int = MAX_BYTES
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the header and the arrays that `write` wrote.

    A file of format 1 is converted to the present format.

    Args:
        path: A file or a folder.
        max_bytes: Larger files are rejected, whatever size their directory states.

    Raises:
        FileNotFoundError: The path does not exist.
        ValueError: The file is damaged, of another program, or newer than this version.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"`path` must be a saved fit, got {path}: no such file."
        )
    if path.is_dir():
        for name in (HEADER, ARRAYS):
            if not (path / name).is_file():
                raise FileNotFoundError(
                    f"`path` must be a saved fit, got {path}: it has no {name}."
                )
        size = sum((path / name).stat().st_size for name in (HEADER, ARRAYS))
        _check_size(path, size, max_bytes)
        files = {name: (path / name).read_bytes() for name in (HEADER, ARRAYS)}
    else:
        files = _members(path, path, max_bytes)
        if sorted(files) != sorted((HEADER, ARRAYS)):
            raise _fault(path, f"it must hold {HEADER} and {ARRAYS} and nothing else")
    header = _read_header(path, files[HEADER])
    arrays = _arrays(path, files[ARRAYS], header.pop("arrays", None), max_bytes)
    if header["format"] == FORMAT:
        return header, arrays
    try:
        return from_format_1(header, arrays)
    except (LookupError, TypeError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else repr(error)
        raise _fault(path, reason) from error


def _fault(path: Path, reason: str) -> ValueError:
    return ValueError(f"`path` must be a saved fit, got {path}: {reason}.")


def _check_size(path: Path, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise _fault(path, f"it holds {size} bytes, more than `max_bytes`, {max_bytes}")


def _members(path: Path, source: Path | io.BytesIO, max_bytes: int) -> dict[str, bytes]:
    """Contents of an archive, limited by its directory and `max_bytes`."""
    try:
        with zipfile.ZipFile(source) as archive:
            entries = _checked_entries(path, archive, max_bytes)
            return {entry.filename: _content(archive, entry) for entry in entries}
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def _checked_entries(
    path: Path, archive: zipfile.ZipFile, max_bytes: int
) -> list[zipfile.ZipInfo]:
    """Entries of an archive, whose stated sizes and names are checked."""
    entries = archive.infolist()
    _check_size(path, sum(entry.file_size for entry in entries), max_bytes)
    if len({entry.filename for entry in entries}) != len(entries):
        raise _fault(path, "it holds the same name twice")
    return entries


def _arrays(
    path: Path, content: bytes, hashes: Any, max_bytes: int
) -> dict[str, np.ndarray]:
    """Arrays with the hashes of the header, none of which is kept before all agree.

    A small archive may unpack to gigabytes: those of another file are not kept.
    """
    other = _fault(path, f"{ARRAYS} is not the one that {HEADER} belongs to")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = _checked_entries(path, archive, max_bytes)
            named = {_array_name(path, entry.filename): entry for entry in entries}
            for name, entry in named.items():
                with archive.open(entry) as file:
                    found = _stream_hash(path, entry, file)
                stated = hashes.get(name) if isinstance(hashes, dict) else None
                if stated is None or found not in (None, stated):
                    raise other
            if not isinstance(hashes, dict) or set(hashes) != set(named):
                raise other
            arrays = {}
            for name, entry in named.items():
                arrays[name] = _read_npy(path, name, _content(archive, entry))
                if data_hash(arrays[name]) != hashes[name]:
                    raise other
            return arrays
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def _stream_hash(path: Path, entry: zipfile.ZipInfo, file: Any) -> str | None:
    """Hash of an array, block by block; None for an order of Fortran."""
    shape, fortran, dtype = _npy_header(path, entry.filename, file)
    if math.prod(shape) * dtype.itemsize != entry.file_size - file.tell():
        raise _fault(path, f"{entry.filename!r} does not have the length of its shape")
    if fortran and len(shape) > 1:
        return None
    found = hash_of(dtype, shape)
    while block := file.read(BLOCK):
        found.update(block)
    return found.hexdigest()


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Content of a member, limited to its stated size; the checksum detects others."""
    with archive.open(entry) as file:
        return file.read(entry.file_size)


def _damaged(path: Path, error: Exception) -> ValueError:
    if str(error).startswith("`path` must be"):
        return ValueError(str(error))
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return _fault(path, f"it is damaged or of another program ({reason})")


def _read_header(path: Path, content: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a JSON number")

    try:
        header = json.loads(content.decode("utf-8"), parse_constant=refuse)
        check_plain(HEADER, header)  # 1e999 is infinite
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from error
    kind = header.get("format") if isinstance(header, dict) else None
    if not isinstance(kind, str) or not kind.startswith("graphgrad/"):
        raise _fault(path, f"{HEADER} has no 'format' of graphgrad")
    if kind not in (FORMAT, FORMER):
        raise _fault(
            path,
            f"its format is {kind!r:.40} and this version reads {FORMAT!r}; update "
            "graphgrad",
        )
    if kind == FORMAT and "form" in header:
        raise _fault(
            path,
            f"{HEADER} has 'form', {header['form']!r:.40}, which is not in {FORMAT!r}; "
            "use 'dynamics': 'flow', 'map' or 'difference'",
        )
    return header


def _array_name(path: Path, name: str) -> str:
    stem = name.removesuffix(".npy")
    if stem == name or not storable_name(stem):
        raise _fault(path, f"{name!r} is not a valid array name")
    return stem


def _read_npy(path: Path, name: str, content: bytes) -> np.ndarray:
    file = io.BytesIO(content)
    shape, _, dtype = _npy_header(path, name, file)
    # Compare sizes before an array of that size is allocated.
    if math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise _fault(path, f"{name!r} does not have the length of its shape")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _npy_header(
    path: Path, name: str, file: Any
) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of an array."""
    headers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    shape, fortran, dtype = headers[np.lib.format.read_magic(file)](file)
    if not storable_dtype(dtype):
        raise _fault(path, f"{name!r} holds {dtype}, not numbers")
    return shape, fortran, dtype
