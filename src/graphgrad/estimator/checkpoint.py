"""What tells a fit from others, so that it goes on from no state but its own."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..data.series import Panel
from ..journal import Journal
from ..package_state import source_digest
from ..storage.settings import encode_setting
from ..storage.writing import data_hash

NOT_SETTINGS = ("callback", "random_state")
"""Parameters of the estimator on which a result does not depend, beside its key."""


@contextmanager
def checkpointed(checkpoint: Any) -> Iterator[Journal | None]:
    """The journal of a fit; that of a folder is removed after the fit.

    Args:
        checkpoint: A folder, a journal, or None.
    """
    if checkpoint is None or isinstance(checkpoint, Journal):
        yield checkpoint
        return
    with Journal(Path(checkpoint)) as journal:
        yield journal
        journal.remove()


def identity(
    key: PRNGKeyArray,
    settings: Mapping[str, Any],
    panel: Panel,
    inputs: Panel | None,
) -> dict[str, str]:
    """What a fit depends on, by what it is called in messages.

    Args:
        key: Random key.
        settings: Parameters of the estimator by name.
        panel: The data.
        inputs: Inputs, if any.
    """
    given = {"seed": jax.random.key_data(key).tolist()}
    for name, value in settings.items():
        if name not in NOT_SETTINGS:
            given[name] = _encoded(name, value)
    data = [_described(part) for part in (panel, inputs) if part is not None]
    versions = {name: version(name) for name in ("graphgrad", "jax", "jaxlib", "numpy")}
    code = source_digest(), str(jnp.zeros(()).dtype)
    return {
        "data": _hash(data),
        "settings": _hash(given),
        "versions": _hash([versions, code]),
    }


def _encoded(name: str, value: Any) -> Any:
    try:
        return encode_setting(value)
    except TypeError as error:
        raise ValueError(
            f"`checkpoint` must be left out where `{name}` has {error}, which cannot "
            "be compared with that of another process."
        ) from None


def _described(panel: Panel) -> list[Any]:
    """Values, names and times of a panel."""
    return [
        [
            data_hash(series.values),
            series.names,
            None if series.times is None else data_hash(series.times),
            None if series.clock is None else series.clock._asdict(),
        ]
        for series in panel.series
    ]


def _hash(plain: Any) -> str:
    return sha256(json.dumps(plain).encode()).hexdigest()
