"""Numbers published by others for the scoreboards, as package data."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published(scoreboard: str) -> dict[str, Any]:
    """The published numbers of one scoreboard, and their source.

    Examples:
        >>> published("flows-published")["below_0.1"]["MIOSR"]
        [61, 59, 55]
    """
    file = files("graphgrad.study").joinpath("published.json")
    return json.loads(file.read_text("utf-8"))[scoreboard]
