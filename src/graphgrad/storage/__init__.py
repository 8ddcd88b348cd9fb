"""Fits on disk: a header in JSON and arrays in NPZ, without pickle.

`docs/format.md` describes the format. Nothing that is read is executed, unpacked to
disk or believed before it is checked.
"""

from .reading import read as read
from .writing import FORMAT as FORMAT
from .writing import data_hash as data_hash
from .writing import write as write
