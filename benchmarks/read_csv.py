"""Time to read a table: `python benchmarks/read_csv.py [ROWS]`."""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from graphgrad.cli.options import DEFAULTS
from graphgrad.cli.preview import preview
from graphgrad.data.files import read_table


def main(n_rows: int = 1_000_000) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n_rows, 3)).cumsum(axis=0)
    for name, share in (("whole", 0), ("10 % missing", 0.1)):
        seen = np.where(rng.random(values.shape) < share, np.nan, values)
        columns = {f"x{i + 1}": column for i, column in enumerate(seen.T)}
        frame = pl.DataFrame({"t": 0.02 * np.arange(n_rows), **columns}).fill_nan(None)
        with tempfile.TemporaryDirectory() as folder:
            frame.write_csv(Path(folder) / "data.csv")
            frame.write_parquet(Path(folder) / "data.parquet")
            for path in sorted(Path(folder).iterdir()):
                begin, cpu = time.perf_counter(), time.process_time()
                for line in preview(read_table(path), {**DEFAULTS, "data": path}):
                    print(line)
                print(
                    f"{name}: {path.stat().st_size / 1e6:.0f} MB in "
                    f"{time.perf_counter() - begin:.1f} s "
                    f"({time.process_time() - cpu:.1f} s of CPU)",
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
