"""The studies. A new one is a file here with a tuple `STUDIES`."""

from importlib import import_module
from pkgutil import iter_modules

from ..plan import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for module in iter_modules(__path__)
    for study in import_module(f".{module.name}", __name__).STUDIES
}
