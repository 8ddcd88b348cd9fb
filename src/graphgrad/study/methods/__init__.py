"""What is compared: a name, and a function that fits and scores a chunk."""

from ..plan import Method
from .lasso import lasso

METHODS: dict[str, Method] = {
    "lasso": lasso,
}
