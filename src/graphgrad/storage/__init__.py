"""Saved fits: a header in JSON and arrays in NPZ, without pickle.

`docs/reference/format.md` describes the format. Reading executes nothing, unpacks
nothing to disk, and checks everything before it is used.
"""

from .reading import read as read
from .writing import FORMAT as FORMAT
from .writing import data_hash as data_hash
from .writing import write as write
