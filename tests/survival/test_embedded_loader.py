"""The embedded loader may die at any moment, on any disk: the index is whole, in its old or its new state."""

import errno
import os
import random
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.made_up_source import MadeUpSource
from tests.survival.loading import INDEX, embedded, started, version_found, words
from treeline.corpus.errors import InputError, TreelineError
from treeline.ingest.pipeline import LoadOptions, load

COUNT = 1_500
DEATHS = 50
PATIENCE = 240.0  # seconds; only what hangs takes as long, also on a busy machine
pytestmark = pytest.mark.slow


def load_and_wait(home: Path, version: int, count: int = COUNT) -> float:
    begin = time.monotonic()
    process = started(home, count, version)
    process.join(PATIENCE)
    assert process.exitcode == 0
    return time.monotonic() - begin


def test_killed_at_fifty_random_moments_the_index_always_opens_whole(tmp_path: Path) -> None:
    """A load that was killed goes on with the next start; at the end there are no doubles, holes or left-over files."""
    load_and_wait(tmp_path, 0)
    whole = load_and_wait(tmp_path, 1)
    healthy = size(tmp_path)
    chance = random.Random(8)
    outcomes = {"old": 0, "new": 0}
    current = 1
    for death in range(DEATHS):
        begin = time.monotonic()
        process = started(tmp_path, COUNT, current + 1)
        process.join(chance.uniform(0, whole * 1.1))
        if process.exitcode == 0:  # the machine is less busy than it was: later deaths have to come sooner
            whole = time.monotonic() - begin
        process.kill()
        process.join(PATIENCE)
        found = version_found(tmp_path, COUNT)
        assert found in (current, current + 1), f"death {death}: version {found} after {current}"
        outcomes["new" if found > current else "old"] += 1
        current = found
    load_and_wait(tmp_path, current + 1)
    assert version_found(tmp_path, COUNT) == current + 1
    assert outcomes["old"] > 5, "the deaths came too late to mean anything"
    embedded(tmp_path).prune(INDEX, keep=2)  # a load that was done before its death came is no left-over
    assert size(tmp_path) < healthy * 2


def size(home: Path) -> int:
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())


def test_two_loads_at_once_one_is_refused_and_nothing_is_harmed(tmp_path: Path) -> None:
    load_and_wait(tmp_path, 0)
    loads = [started(tmp_path, COUNT, version) for version in (1, 2)]
    for process in loads:
        process.join(PATIENCE)
    codes = sorted(process.exitcode or 0 for process in loads)
    assert codes in ([0, 2], [0, 0])  # refused, or late enough to come after the other
    assert version_found(tmp_path, COUNT) in (1, 2)


def test_a_second_writer_is_told_who_is_in_the_way(tmp_path: Path) -> None:
    store = embedded(tmp_path)
    with store.begin(INDEX, [], "first"), pytest.raises(InputError) as refused:
        load(store, INDEX, [MadeUpSource(10)], LoadOptions(work=tmp_path / ".loading", encoders=("none",), workers=0))
    assert "being written by another process" in str(refused.value)


def test_a_lock_of_a_dead_process_does_not_block(tmp_path: Path) -> None:
    process = started(tmp_path, 100_000, 0)
    end = time.monotonic() + PATIENCE
    while not list((tmp_path / ".loading").glob("*.journal")):  # made under the lock
        assert time.monotonic() < end
        time.sleep(0.01)
    process.kill()
    process.join(PATIENCE)
    load_and_wait(tmp_path, 0)
    assert version_found(tmp_path, COUNT) == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 32 MB; only root may mount one."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a small file system; the file-size limit below covers the rest")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_is_a_clear_error_and_the_old_index_stays(small_disk: Path) -> None:
    load_and_wait(small_disk, 0, 500)
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (free - 3_000_000))
    process = started(small_disk, 10_000, 1)
    process.join(PATIENCE)
    assert process.exitcode == 1
    told = words(small_disk).read_text(encoding="utf-8")
    assert "the disk is full" in told
    assert told.count("\n") == 1
    assert version_found(small_disk, 500) == 0
    assert not list(small_disk.rglob("building*")), "what cannot be finished does not keep the disk full"
    assert not list(small_disk.rglob("*.journal*"))
    filler.unlink()
    load_and_wait(small_disk, 1, 10_000)
    assert version_found(small_disk, 10_000) == 1


@pytest.mark.parametrize("left", [0, 4_096, 40_000])
def test_a_disk_that_is_full_from_the_start_keeps_nothing_of_the_load(small_disk: Path, left: int) -> None:
    """The generation cannot even be begun, or its journal not be made."""
    load_and_wait(small_disk, 0, 500)
    with (small_disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(b"x" * 4_096)
    with (small_disk / "filler").open("r+b") as filler:
        filler.truncate(filler.seek(0, os.SEEK_END) - left)
    process = started(small_disk, 2_000, 1)
    process.join(PATIENCE)
    assert process.exitcode == 1
    assert "the disk is full" in words(small_disk).read_text(encoding="utf-8")
    assert not list(small_disk.rglob("building*"))
    assert not list(small_disk.rglob("*.journal*"))
    assert version_found(small_disk, 500) == 0


def test_a_file_that_may_not_grow_is_a_clear_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    load_and_wait(home, 0, 500)
    process = started(home, 20_000, 1, largest_file=300_000)
    process.join(PATIENCE)
    assert process.exitcode == 1
    told = words(home).read_text(encoding="utf-8")
    assert "over the allowed size" in told
    assert told.count("\n") == 1
    assert version_found(home, 500) == 0


def test_a_read_only_folder_is_a_clear_error_and_can_still_be_searched(tmp_path: Path) -> None:
    if os.getuid() == 0:
        pytest.skip("root may write everywhere; the read-only mount below covers it")
    load_and_wait(tmp_path, 0, 500)
    modes = {path: path.stat().st_mode for path in (tmp_path, *tmp_path.rglob("*"))}
    for path in modes:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
    try:
        with pytest.raises(TreelineError):
            load(embedded(tmp_path), INDEX, [MadeUpSource(10, 1)], LoadOptions(work=tmp_path / ".loading", workers=0))
        assert version_found(tmp_path, 500) == 0
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def test_a_read_only_disk_is_a_clear_error_and_can_still_be_searched(small_disk: Path) -> None:
    load_and_wait(small_disk, 0, 500)
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    if subprocess.run(remount, capture_output=True).returncode:
        pytest.skip("the small file system cannot be made read-only here")
    with pytest.raises(TreelineError) as told:
        load(
            embedded(small_disk),
            INDEX,
            [MadeUpSource(10, 1)],
            LoadOptions(work=small_disk / ".loading", encoders=("none",), workers=0),
        )
    assert os.strerror(errno.EROFS).lower() in str(told.value).lower() or "read-only" in str(told.value).lower()
    assert version_found(small_disk, 500) == 0
