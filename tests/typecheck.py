"""The run-time type checker of the tests: beartype, with whole numbers as floats."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
