"""Files with damaged bytes, tables and saved fits: read or refused with a message."""

import io
import random
import tempfile
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from graphgrad import storage
from graphgrad.data.files import read_table
from helpers.outcomes import Tally, label, tally
from soak.samples import rows

PIECES = (
    *(b"\0", b"\xff", b"\xfe\xff", b"\n", b"\r", b",", b";", b'"', b"'", b"=", b"\t"),
    *(b"nan", b"-inf", b"1e999", b"1,5", b"%", b"1_000", b"\xd9\xa3", b"2024-02-30"),
    *(b"-9999", b"0x1f", b"9" * 400, b"t", b"time", b"Q5", b"\xef\xbb\xbf", b" "),
)
"""What is put into a file."""

ENDINGS = (".csv",) * 14 + (".parquet", ".zip", ".zip", ".xlsx", ".xlsx")
"""Kinds of files; a Parquet file takes as long as a hundred others."""


def _texts() -> list[bytes]:
    y = rows(8)
    plain = "".join(f"{a:.3f},{b:.3f}\n" for a, b in y)
    times = "".join(f"{i},{a:.3f},{b:.3f}\n" for i, (a, b) in enumerate(y))
    days = "".join(f"2024-05-{i + 1:02};{a:.3f}\n" for i, (a, _) in enumerate(y))
    comma = days.replace(".", ",")
    texts = (plain, "x,y\n" + plain, "t,x,y\n" + times)
    return [t.encode() for t in (*texts, "date;x\n" + days, "date;x\n" + comma)]


def _seeds(folder: Path) -> dict[str, list[bytes]]:
    """Whole files by the end of their names."""
    frame = pl.DataFrame({"t": range(8), "x": rows(8)[:, 0]})
    frame.write_parquet(folder / "a")
    frame.to_pandas().to_excel(folder / "c.xlsx", index=False)
    storage.write(folder / "b.zip", {"dt": 1.0}, {"coefficients": rows(4)})
    return {
        ".csv": _texts(),
        ".parquet": [(folder / "a").read_bytes()],
        ".xlsx": [(folder / "c.xlsx").read_bytes()],
        ".zip": [(folder / "b.zip").read_bytes()],
    }


def damaged(content: bytes, chance: random.Random) -> bytes:
    """A file with one to four edits: bytes replaced, left out, repeated or put in."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(changed) + 1)
        end = min(len(changed), at + chance.choice((0, 1, 1, 4, 40)))
        piece = chance.choice((*PIECES, bytes(changed[at:end]) * 2, b""))
        if chance.random() < 0.1:
            del changed[at:]
        elif chance.random() < 0.3 and at < len(changed):
            changed[at] = chance.randrange(256)
        else:
            changed[at:end] = piece
    return bytes(changed)


def _damaged_part(content: bytes, chance: random.Random) -> bytes:
    """A workbook of which one part is damaged, not the archive around it."""
    found = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(found, "w") as new,
    ):
        at = chance.choice(old.namelist())
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, damaged(part, chance) if name == at else part)
    return found.getvalue()


def campaign(examples: int, start: int = 0) -> Tally:
    """Read damaged files.

    Args:
        examples: Number of files.
        start: Seed.
    """
    found: Tally = Counter()
    chance = random.Random(start)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds = _seeds(folder)
        for _ in range(examples):
            ending = chance.choice(ENDINGS)
            parts = ending == ".xlsx" and chance.random() < 0.5
            damage = _damaged_part if parts else damaged
            content = damage(chance.choice(seeds[ending]), chance)
            path = folder / f"data{ending}"
            path.write_bytes(content)
            tally(found, label(ending, content), lambda p=path: _read(p))
    return found


def _read(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return storage.read(path) if path.suffix == ".zip" else read_table(path)
