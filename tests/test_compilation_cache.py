"""Compiled programs are kept for the next process, unless the user wants otherwise."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import jax
import numpy as np
import pytest

from graphgrad import compilation_cache
from graphgrad.compilation_cache import cache_folder
from graphgrad.compiling import compiled
from graphgrad.program_files import ProgramFiles, delete_oldest

X = np.arange(3.0)
SETTINGS: Any = jax.config


def compile_and_run():
    """Compile one program, and the operation by which `compiled` finds traces."""
    jax.clear_caches()
    assert compiled(lambda x: 2 * x + 1)(X).tolist() == [1.0, 3.0, 5.0]


def stored(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.glob("*")}


def test_programs_of_the_package_alone_are_stored(folder):
    jax.jit(lambda x: x - 1)(X)
    assert not folder.exists()
    compile_and_run()
    files = stored(folder)
    assert files
    assert folder.stat().st_mode & 0o777 == 0o700
    jax.jit(lambda x: x - 1)(X)
    with compilation_cache.stored_programs():
        other = Thread(target=lambda: jax.jit(lambda x: x - 2)(X))
        other.start()
        other.join()
    assert stored(folder) == files


def test_no_setting_of_jax_changes(folder):
    before = dict(SETTINGS.values)
    compile_and_run()
    assert stored(folder)
    assert dict(SETTINGS.values) == before
    assert compilation_cache._JAX._cache is None


def test_a_damaged_file_is_replaced(folder):
    compile_and_run()
    for name, content in stored(folder).items():
        (folder / name).write_bytes(content[: len(content) // 2])
    damaged = stored(folder)
    compile_and_run()
    assert all(len(stored(folder)[name]) > len(damaged[name]) for name in damaged)


def test_it_can_be_turned_off(folder, monkeypatch):
    monkeypatch.setenv("GRAPHGRAD_CACHE", "off")
    assert cache_folder() is None
    compile_and_run()
    assert not folder.exists()


def test_a_folder_of_the_user_in_jax_wins(folder, tmp_path):
    least = SETTINGS.jax_persistent_cache_min_compile_time_secs
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    try:
        compile_and_run()
    finally:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", least)
    assert list((tmp_path / "own").iterdir())
    assert not stored(folder)


def test_a_folder_that_the_user_sets_later_wins(folder, tmp_path):
    compile_and_run()
    files = stored(folder)
    test_a_folder_of_the_user_in_jax_wins(tmp_path / "none", tmp_path)
    assert stored(folder) == files


def test_no_cache_if_the_user_turned_it_off_in_jax(folder):
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        compile_and_run()
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
    assert not stored(folder)


def test_no_cache_where_no_folder_can_be_made(folder):
    folder.write_text("a file")
    compile_and_run()
    assert folder.read_text() == "a file"


@pytest.mark.skipif(sys.platform == "win32", reason="no owners and modes")
def test_no_cache_in_a_folder_that_others_can_write(folder):
    folder.mkdir()
    folder.chmod(0o770)
    compile_and_run()
    assert not stored(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="no owners and modes")
def test_no_cache_in_a_folder_of_someone_else(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    compile_and_run()
    assert not stored(folder)


def test_an_older_jax_has_no_cache(folder, monkeypatch):
    monkeypatch.setattr(jax, "__version_info__", (0, 10, 1))
    compile_and_run()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("platform", "variable", "folder"),
    [
        ("linux", "XDG_CACHE_HOME", "/home/a/.cache"),
        ("darwin", "", "/home/a/Library/Caches"),
        ("win32", "LOCALAPPDATA", "/home/a/AppData/Local"),
    ],
)
def test_the_folder_is_the_usual_one(platform, variable, folder, monkeypatch):
    monkeypatch.delenv("GRAPHGRAD_CACHE", raising=False)
    monkeypatch.setenv("HOME", "/home/a")
    monkeypatch.setattr(sys, "platform", platform)
    if variable:
        monkeypatch.delenv(variable, raising=False)
    assert cache_folder() == Path(folder, "graphgrad", "compiled")
    if variable:
        monkeypatch.setenv(variable, "/else")
        assert cache_folder() == Path("/else/graphgrad/compiled")


def test_the_least_recently_used_are_deleted(tmp_path):
    files = ProgramFiles(tmp_path)
    (tmp_path / "notes.txt").write_bytes(bytes(500))
    for age, key in enumerate("abc"):
        files.put(key, bytes(100 - 32))
        os.utime(files._file(key), (1e9 - age, 1e9 - age))
    assert files.get("c")  # used now
    delete_oldest(tmp_path, 200)
    assert [files.get(key) is not None for key in "abc"] == [True, False, True]
    assert (tmp_path / "notes.txt").exists()


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    files = ProgramFiles(tmp_path)
    files.put("a", b"program")
    assert files.get("a") is None
    assert not list(tmp_path.iterdir())


COUNT = """
import collections, jax, numpy as np
from graphgrad.compiling import compiled

counts = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **_: counts.update([event]))
jax.jit(lambda x: x - 1)(np.arange(3.0))  # JAX was used before
counts.clear()
print(compiled(lambda x: 2 * x + 1)(np.arange(3.0)))
asked, hits = "compile_requests_use_cache", "cache_hits"
print(*(counts[f"/jax/compilation_cache/{event}"] for event in (asked, hits)))
"""


@pytest.mark.slow
def test_processes_at_once_and_after_share_programs(tmp_path):
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("JAX_")},
        "GRAPHGRAD_CACHE": str(tmp_path),
    }

    def start():
        command = [sys.executable, "-W", "error", "-c", COUNT]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe)

    for process in [start(), start()]:
        out, errors = process.communicate()
        assert out.startswith(b"[1. 3. 5.]")
        assert not errors
    out, errors = start().communicate()
    asked, hits = out.split()[-2:]
    assert int(asked) == int(hits) > 0
    assert not errors
