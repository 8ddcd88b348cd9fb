"""Stages of a fit, which are not computed again when it goes on after it was stopped.

The solver is deterministic: a fit that begins again comes to the same stages with the
same inputs, and reads what came out of them. A stage is known by a digest of its name,
its inputs and the stages before it.
"""

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import jax
import numpy as np

from .loading import is_key
from .state_folder import FORMAT, HEADER, PART, Kind, StateFolder

PATIENCE = 60.0
"""Seconds between two times that a fit is saved, and before the first."""


class Stage:
    """A stage of a fit.

    Attributes:
        state: Where to go on from; where the stage ended if it is over.
        over: Whether the stage ended before the fit was stopped.
    """

    def __init__(
        self,
        state: Any,
        *,
        over: bool = False,
        keep: Callable[[Any, bool], None] = lambda _state, _over: None,
    ):
        self.state = state
        self.over = over
        self._keep = keep

    def reached(self, state: Any) -> None:
        """Tell where the stage is, from where it goes on if the fit is stopped."""
        self._keep(state, False)

    def ended(self, state: Any) -> None:
        """Tell where the stage ended."""
        if not self.over:
            self._keep(state, True)


class Journal:
    """The stages of a fit, and the folder that has them.

    It is written once a minute, so that a fit that is killed loses at most that. A fit
    that takes less than a minute leaves nothing.

    Args:
        folder: The folder, which need not exist.
        argument: Argument that named it, for messages.
        warn: Called with a line if the state cannot be saved, which stops no fit.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "state"
        >>> for _ in range(2):
        ...     with Journal(folder) as journal:
        ...         journal.begin({"data": "those of this example"})
        ...         stage = journal.stage("ones", [3], np.zeros(3))
        ...         print(stage.over, stage.state)
        ...         stage.ended(np.ones(3))
        ...         journal.save()
        False [0. 0. 0.]
        True [1. 1. 1.]
        >>> journal.remove()
        >>> folder.exists()
        False
    """

    def __init__(
        self,
        folder: Path,
        *,
        argument: str = "checkpoint",
        warn: Callable[[str], Any] = warnings.warn,
    ):
        self._folder = StateFolder(folder, argument)
        self._warn = warn
        self._digest = ""
        self._lock = Lock()
        self._saving = True
        self._saved = time.monotonic()
        self._unsaved: dict[str, Any] = {}

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        """Save a fit that was stopped, unless it has taken less than a minute."""
        try:
            if self.exists or time.monotonic() - self._saved >= PATIENCE:
                self.save()
        finally:
            self._folder.release()

    @property
    def path(self) -> Path:
        """The folder."""
        return self._folder.path

    @property
    def found(self) -> bool:
        """Whether there is a state of some fit."""
        return (self.path / HEADER).is_file()

    @property
    def exists(self) -> bool:
        """Whether there is a state of this fit."""
        return self._folder.exists

    def begin(self, identity: Mapping[str, str]) -> None:
        """Begin a fit, from its state if there is one.

        Args:
            identity: What the fit depends on, by what it is called in messages.

        Raises:
            ValueError: The state is of another fit, or used by another process.
        """
        self._folder.open(identity)
        self._digest = _digest(FORMAT, json.dumps(dict(identity)))

    def discard(self) -> None:
        """Remove the state of a stopped fit that is not gone on with."""
        self._folder.discard()

    def stage(
        self, name: str, inputs: Any, start: Any, *, most_rows: int | None = None
    ) -> Stage:
        """A stage; see `begin_stage`."""
        self._digest = digest = _digest(self._digest, name, *_contents(inputs))

        def keep(state: Any, over: bool) -> None:
            with self._lock:
                if over:
                    self._unsaved.pop(digest + PART, None)
                self._unsaved[digest if over else digest + PART] = state
            if time.monotonic() - self._saved >= PATIENCE:
                self.save()

        leaves, structure = jax.tree.flatten(start)
        kinds = [Kind(np.dtype(leaf.dtype), np.shape(leaf)) for leaf in leaves]
        for over in (True, False):
            file = digest if over else digest + PART
            found = self._folder.read(file, kinds, most_rows=most_rows)
            if found is not None:
                state = [
                    jax.device_put(array) if isinstance(leaf, jax.Array) else array
                    for array, leaf in zip(found, leaves, strict=True)
                ]
                state = jax.tree.unflatten(structure, state)
                return Stage(state, over=over, keep=keep)
        return Stage(start, keep=keep)

    def save(self) -> None:
        """Write what is not written yet; if this fails, the fit goes on without."""
        with self._lock:
            try:
                for file, state in self._unsaved.items() if self._saving else ():
                    arrays = map(np.asarray, jax.tree.leaves(state))
                    self._folder.write(file, list(arrays))
            except OSError as error:
                self._saving = False
                self._warn(
                    f"The state of the fit cannot be saved in {self.path}: "
                    f"{error.strerror or error}. The fit goes on."
                )
            self._unsaved.clear()
            self._saved = time.monotonic()

    def remove(self) -> None:
        """Remove the state of a fit that has ended."""
        with self._lock:
            self._saving = False
            self._unsaved.clear()
            self._folder.remove()


def begin_stage(
    journal: Journal | None,
    name: str,
    inputs: Any,
    start: Any,
    *,
    most_rows: int | None = None,
) -> Stage:
    """A stage of a fit, with or without a journal.

    Args:
        journal: The journal of the fit, if any.
        name: Name of the stage.
        inputs: What it depends on, beside the stages before it.
        start: Where it begins, a tree of arrays. Where it ends has the same shapes and
            types.
        most_rows: Most rows that the last array has then, if it has others.
    """
    if journal is None:
        return Stage(start)
    return journal.stage(name, inputs, start, most_rows=most_rows)


def _digest(*parts: str | bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        found.update(f"{len(content)} ".encode())
        found.update(content)
    return found.hexdigest()


def _contents(tree: Any) -> Iterator[str | bytes]:
    """Numbers and texts of a tree; anything else by its name."""
    for leaf in jax.tree.leaves(tree):
        if isinstance(leaf, jax.Array) and is_key(leaf):
            leaf = jax.random.key_data(leaf)
        if isinstance(leaf, jax.Array | np.ndarray | np.generic):
            array = np.asarray(leaf)
            yield from (f"{array.dtype} {array.shape}", array.tobytes())
        elif isinstance(leaf, str | bool | int | float):
            yield repr(leaf)
        else:
            yield getattr(leaf, "__qualname__", type(leaf).__qualname__)
