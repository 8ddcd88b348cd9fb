"""Fits on disk: a header in JSON and arrays in NPZ, without pickle.

`docs/format.md` describes the format. Nothing that is read is executed, unpacked to
disk or believed before it is checked.
"""

from .format import FORMAT as FORMAT
from .format import data_hash as data_hash
from .reading import read as read
from .writing import write as write
