"""Edits of `model.json`: each loads, or is refused with a clear message."""

import copy
import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphgrad as gg
from graphgrad.cli.headers import read_header
from graphgrad.cli.summary import as_json, summary
from helpers.outcomes import Tally, tally

VALUES = (
    *(None, True, -1, 0, 2, 1.5, 1e300, 10**400, "", "x", "\x1b[2J", "nan"),
    *([], {}, [[]], [None], {"kind": "Polynomial"}, [[[[1.0]]]], ["x", "x"]),
    {"kind": "number", "value": "nan"},
    {"kind": "array", "dtype": "float64", "items": [[1.0], []]},
    {"kind": "tuple", "items": [{"kind": "tuple", "items": []}]},
)
"""What a field is replaced by."""


def places(plain: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all fields, of the first and last entries of long lists."""
    if at:
        yield at
    if isinstance(plain, dict):
        for key, inner in plain.items():
            yield from places(inner, (*at, key))
    elif isinstance(plain, list):
        for i in sorted({0, len(plain) - 1} & set(range(len(plain)))):
            yield from places(plain[i], (*at, i))


def edits(header: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every edit of a header: a field left out, replaced, repeated or nested."""
    for at in places(header):
        for kind, value in (
            ("delete", None),
            ("nest", None),
            ("twice", None),
            *((f"{value!r:.40}", value) for value in VALUES),
        ):
            changed = copy.deepcopy(header)
            inner = changed
            for key in at[:-1]:
                inner = inner[key]
            if kind == "delete":
                del inner[at[-1]]
            elif kind == "nest":
                inner[at[-1]] = [inner[at[-1]]]
            elif kind == "twice":
                if not isinstance(inner[at[-1]], list):
                    continue
                inner[at[-1]] = inner[at[-1]] * 2
            else:
                inner[at[-1]] = copy.deepcopy(value)
            yield f"{'.'.join(map(str, at))}: {kind}", changed


def campaign(runs: list[Path], most: int | None = None, seed: int = 0) -> Tally:
    """Edit the headers of saved fits, load each and show it.

    Args:
        runs: Folders of saved fits.
        most: Most edits, chosen at random; all if None.
        seed: Seed of the choice.
    """
    found = Counter()
    with tempfile.TemporaryDirectory() as name:
        for number, run in enumerate(runs):
            target = Path(name) / str(number)
            shutil.copytree(run, target)
            header = json.loads((run / "model.json").read_text())
            listed = list(edits(header))
            if most is not None:
                share = min(len(listed), most // len(runs))
                listed = random.Random(seed).sample(listed, share)
            for what, changed in listed:
                (target / "model.json").write_text(json.dumps(changed))
                tally(found, f"load {what}", lambda t=target: gg.GraphGrad.load(t))
                tally(found, f"show {what}", lambda t=target: _show(t))
    return found


def _show(run: Path) -> None:
    header = read_header(run)
    json.dumps(as_json(header))
    list(summary(header))
