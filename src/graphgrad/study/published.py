"""What others published on the scoreboards, as data of the package."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published(scoreboard: str) -> dict[str, Any]:
    """What is known of one scoreboard, and where it was printed.

    Examples:
        >>> published("flows-published")["below_0.1"]["MIOSR"]
        [61, 59, 55]
    """
    file = files("graphgrad.study").joinpath("published.json")
    return json.loads(file.read_text("utf-8"))[scoreboard]
