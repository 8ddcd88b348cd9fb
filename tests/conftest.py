"""Settings for every test: reproducible examples, no deadlines under JIT."""

import jax
import pytest
from hypothesis import settings

settings.register_profile("graphgrad", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("graphgrad")


@pytest.fixture
def x64():
    """Double precision inside one test, without touching the global setting."""
    with jax.enable_x64(True):
        yield
