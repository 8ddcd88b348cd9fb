"""Fits to files and back."""

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from .. import storage
from ..checks import check_choice
from .archive import arrays_of, header_of
from .fitted import AbstractFitted, in_double
from .frames import Panel
from .plain import from_plain, to_plain
from .record import Fit, Task, record
from .stored import Stored

S = TypeVar("S", bound="AbstractSaved")

FAULTS = (AssertionError, AttributeError, TypeError, ValueError)
"""What a file that does not fit may raise, beside errors of numbers and places."""

CONFIDENCES = ("term_confidence_", "edge_confidence_")


class AbstractSaved(AbstractFitted):
    """A fit that can be kept in a file."""

    dynamics: Any

    @abstractmethod
    def _task(
        self, panel: Panel, inputs: Panel | None, dynamics: str | None = None
    ) -> Task:
        """What goes into a fit to these data, with other dynamics than asked for."""

    @abstractmethod
    def _store(self, fit: Fit) -> None:
        """What users read off a fit."""

    @in_double
    def save(self, path: str | Path, *, leave_out: Iterable[str] = ()) -> None:
        """Write the fit with its data, without pickle; `load` reads it.

        Args:
            path: A file, if it ends in `.zip`; any other name is a folder.
            leave_out: Names of parameters that a file cannot hold, such as an
                `observation` that is a function; they are given to `load` again.
                A callback is always left out.

        Examples:
            >>> import graphgrad as gg, jax, tempfile, pathlib
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad().fit(y)
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "fit.zip"
            >>> model.save(path)
            >>> again = gg.GraphGrad.load(path)
            >>> (again.coef_ == model.coef_).all(), again.outcome_
            (np.True_, 'converged')
        """
        fit = self._checked()
        settings = {**fit.task.settings, "random_state": self.random_state}
        left_out = [check_choice("leave_out", name, settings) for name in leave_out]
        header = header_of(fit)
        arrays = arrays_of(fit)
        for name in CONFIDENCES:
            if hasattr(self, name):
                arrays[name] = np.asarray(getattr(self, name))
        header["seed"] = _plain_setting("random_state", settings, left_out)
        header["left_out"] = left_out
        header["settings"] = {
            name: _plain_setting(name, settings, left_out)
            for name in settings
            if name not in ("callback", *left_out)
        }
        storage.write(path, header, arrays)

    @classmethod
    def load(cls: type[S], path: str | Path, **left_out: Any) -> S:
        """A fit that `save` wrote; it gives the same results to the last bit.

        Data that were a frame come back as an array with names, so that `fill` gives
        an array.

        Args:
            path: A file or a folder.
            **left_out: The parameters that `save` left out.

        Raises:
            FileNotFoundError: There is nothing at the path.
            ValueError: What is there is damaged, not ours, or newer than this version;
                or parameters that were left out are not given.
        """
        header, arrays = storage.read(path)
        stored = Stored(header, arrays)
        try:
            missing = header["left_out"]
            settings = header["settings"]
            _check_given(path, missing, left_out)
            stored.check_library(settings)
            with jax.enable_x64(True):
                given = {name: from_plain(plain) for name, plain in settings.items()}
                model = cls(**given, **left_out)
                kind = stored.dynamics(model.dynamics)
                task = model._task(*stored.panels(), kind)
                prepared = task.prepared
                start = stored.model(prepared.data.model)
                data = prepared.data._replace(model=start)
                task = task._replace(prepared=prepared._replace(data=data))
                fit = record(task, *stored.solution(task))
                stored.check_header(fit)
                model._store(fit)
            if CONFIDENCES[0] in arrays:
                model.term_confidence_ = stored.take(CONFIDENCES[0], "Nx M")
                model.edge_confidence_ = stored.take(CONFIDENCES[1], "Nx Nv")
        except (ArithmeticError, LookupError, *FAULTS) as error:
            if str(error).startswith("`left_out`"):
                raise
            reason = str(error) if isinstance(error, ValueError) else repr(error)
            raise ValueError(
                f"`path` must be a saved fit, got {path}: {reason}."
            ) from error
        return model


def _plain_setting(name: str, settings: dict[str, Any], left_out: list[str]) -> Any:
    value = settings[name]
    if name in left_out:
        return None
    if name == "states" and value is not None:
        return [str(state) for state in value]
    try:
        return to_plain(value)
    except TypeError as error:
        raise ValueError(
            f"`{name}` must be something that a file can hold, got {error}. Save with "
            f"`leave_out=[{name!r}]` and give it again: `load(path, {name}=...)`."
        ) from None


def _check_given(path: Any, missing: Any, given: dict[str, Any]) -> None:
    """Say what was left out and is not given, or given and was not left out."""
    for name in missing:
        if name not in given:
            raise ValueError(
                f"`left_out` must have the parameter {name!r}, which {path} was saved "
                f"without. Give it as in the fit: `load(path, {name}=...)`."
            )
    for name in given:
        if name not in missing:
            raise ValueError(
                f"`left_out` must be what {path} was saved without, {list(missing)}, "
                f"got {name!r}. Leave it out; `set_params` changes settings."
            )
