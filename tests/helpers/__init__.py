"""What tests share: exact oracles, stubs, samples, and where things are."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FIXTURES = ROOT / "tests" / "fixtures"

CACHE = ROOT / ".pytest_cache" / "compiled"
"""Tests are mostly compilation, and many compile the same: what one worker or process
has compiled, the others read."""
