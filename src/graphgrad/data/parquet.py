"""Parquet files, which another process reads first.

Of some damaged files Polars takes so much memory that the process is ended, or prints
traces of its own; both happen to that process alone.
"""

import subprocess
import sys
from pathlib import Path

CHECK = """
import sys
sys.path[:] = sys.argv[2:]
try:
    import polars
    polars.read_parquet(sys.argv[1])
except BaseException as error:
    print(f"{error!s:.200}")
    sys.exit(1)
"""
"""What the other process runs; no part of it comes from a file."""


def parquet_fault(path: Path) -> str | None:
    """Why a file cannot be read as Parquet, if it cannot.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "data.parquet"
        >>> _ = path.write_bytes(b"PAR1, but damaged")
        >>> parquet_fault(path)
        'parquet: File out of specification: ...'
    """
    if not sys.executable:  # Python is part of another program
        return None
    command = [sys.executable, "-I", "-S", "-c", CHECK, str(path), *sys.path]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if run.returncode == 0:
        return None
    (reason, *_) = run.stdout.splitlines() or ["it is damaged"]
    return reason
