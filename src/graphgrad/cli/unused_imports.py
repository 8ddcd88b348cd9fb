"""Packages that scikit-learn imports and commands hardly use, imported on first use.

The base class of the estimator is from scikit-learn, which imports SciPy's statistics
and, where it is installed, pandas: a third of all imports before the first equations.
Only commands do this: a library leaves the imports of others alone.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

UNUSED = ("scipy.stats", "pandas")


class _Later(ModuleType):
    """Stands for a module until something of it is looked at."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def put_off(*names: str) -> None:
    """Import modules when they are first looked at, unless they are imported already.

    Examples:
        >>> put_off("this")  # prints poetry when it is imported
        >>> import this
        >>> put_off("math")
        >>> import math
        >>> math.sqrt(4.0)
        2.0
    """
    for name in names:
        if name not in sys.modules and find_spec(name) is not None:
            sys.modules[name] = _Later(name)
            # Import statements look at it.
            sys.modules[name].__spec__ = ModuleSpec(name, None)
