"""A burst may come at once, then the rate holds, for all processes together."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from treeline.service.http import rate
from treeline.service.http.rate import KEY_BYTES, MOST_DEBT, RateLimiter, Usage


def allowed(limiter: RateLimiter, caller: str, times: list[float], per_minute: float = 60, burst: int = 5) -> int:
    return sum(not limiter.wait(caller, per_minute, burst, now) for now in times)


def test_a_burst_passes_and_the_next_call_is_told_when_to_come_back() -> None:
    limiter = RateLimiter()
    assert allowed(limiter, "a", [1000.0] * 5) == 5
    assert limiter.wait("a", 60, 5, 1000.0) == pytest.approx(1.0)
    assert limiter.wait("a", 60, 5, 1001.0) == 0


def test_over_a_long_time_the_rate_is_the_rate() -> None:
    calls = [1000 + tenth / 10 for tenth in range(6_000)]
    assert allowed(RateLimiter(), "a", calls) == pytest.approx(600 + 5, abs=1)


def test_callers_do_not_share_a_bucket() -> None:
    limiter = RateLimiter()
    assert allowed(limiter, "a", [1000.0] * 9) == 5
    assert allowed(limiter, "b", [1000.0] * 9) == 5


def test_a_clock_set_back_locks_nobody_out() -> None:
    limiter = RateLimiter()
    limiter.wait("a", 60, 5, 9_999_999.0)
    assert limiter.wait("a", 60, 5, 1000.0) <= 1.0
    assert allowed(limiter, "a", [1002.0 + second for second in range(10)]) == 10


def test_many_callers_do_not_grow_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "SLOTS", 64)
    limiter = RateLimiter()
    before = len(limiter._memory)
    assert all(limiter.wait(f"caller {number}", 60, 5, 1000.0) == 0 for number in range(1_000))
    assert len(limiter._memory) == before == KEY_BYTES + rate.SLOT.size * (64 + rate.PROBES)


def test_two_processes_share_one_limit(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from treeline.service.http.rate import RateLimiter\n"
        "limiter = RateLimiter(Path(sys.argv[1]))\n"
        "print(sum(not limiter.wait('a', 1, 100) for _ in range(100)))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "run" / "rates")]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sum(int(worker.communicate(timeout=240)[0]) for worker in workers) == 100


def test_without_a_writable_folder_each_process_counts_for_itself(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    one, other = (RateLimiter(tmp_path / "file" / "rates") for _ in range(2))
    assert one.wait("a", 1, 1) == other.wait("a", 1, 1) == 0
    assert one.wait("a", 1, 1) > 0


def test_on_a_full_disk_each_process_counts_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapped file would end the process with SIGBUS at the first write."""
    program = (
        "import resource, sys; from pathlib import Path; from treeline.service.http.rate import RateLimiter\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "limiter = RateLimiter(Path(sys.argv[1]))\n"
        "print(sum(not limiter.wait(f'{number % 500}', 1, 1) for number in range(1000)))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "rates")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout) == (0, "500\n"), done.stderr


def test_a_system_that_cannot_allocate_space_shares_the_file_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS has no `posix_fallocate`."""
    monkeypatch.delattr(os, "posix_fallocate")
    one, other = (RateLimiter(tmp_path / "rates") for _ in range(2))
    assert one.is_shared
    assert one.wait("a", 1, 1) == 0
    assert other.wait("a", 1, 1) > 0
    assert len(one.slots()) == rate.SLOTS + rate.PROBES


def test_a_disk_that_fails_later_is_lived_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limiter = RateLimiter(tmp_path / "rates")
    assert limiter.wait("a", 1, 1) == 0

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert limiter.wait("b", 1, 1) == 0
    assert limiter.wait("b", 1, 1) > 0


def test_a_damaged_file_locks_nobody_out_and_lets_nobody_through(tmp_path: Path) -> None:
    limiter = RateLimiter(tmp_path / "rates")
    limiter.wait("a", 1, 1)
    file = tmp_path / "rates"
    file.write_bytes(b"\xff" * file.stat().st_size)  # not a number, everywhere
    again = RateLimiter(file)
    assert again.wait("a", 1, 1) == 0
    assert again.wait("a", 1, 1) > 0


def number(limiter: RateLimiter) -> int:
    """The hash of the only caller."""
    [caller] = [row["caller"] for row in limiter.slots() if row["caller"]]
    return int(caller)


def test_what_another_machine_allowed_counts_here_too() -> None:
    limiter = RateLimiter()
    limiter.wait("a", 60, 5, 1000.0)
    limiter.charge({number(limiter): Usage(3.0, 5.0)}, since=999.0, now=1000.0)
    assert allowed(limiter, "a", [1000.0] * 5) == 1


def test_what_was_allowed_too_much_is_owed_and_paid() -> None:
    """Otherwise machines that learn of each other late would allow the rate each, for ever."""
    limiter = RateLimiter()
    assert allowed(limiter, "a", [1000.0] * 5) == 5
    limiter.charge({number(limiter): Usage(10.0, 5.0)}, since=999.0, now=1000.0)
    assert allowed(limiter, "a", [1010.0]) == 0
    assert allowed(limiter, "a", [1011.0]) == 1


def test_nobody_owes_more_than_half_a_minute() -> None:
    limiter = RateLimiter()
    limiter.wait("a", 60, 5, 1000.0)
    limiter.charge({number(limiter): Usage(1e9, 5.0)}, since=999.0, now=1000.0)
    assert limiter.wait("a", 60, 5, 1000.0) == pytest.approx(MOST_DEBT + 1)


def test_what_was_allowed_long_ago_is_no_burst_now() -> None:
    limiter = RateLimiter()
    limiter.wait("a", 60, 5, 1000.0)
    limiter.charge({number(limiter): Usage(300.0, 5.0)}, since=1000.0, now=1600.0)
    assert allowed(limiter, "a", [1600.0] * 9) == 5


def test_only_what_was_allowed_here_is_told_to_others() -> None:
    limiter = RateLimiter()
    limiter.wait("a", 60, 5, 1000.0)
    limiter.charge({number(limiter): Usage(3.0, 5.0)}, since=999.0, now=1000.0)
    assert allowed(limiter, "a", [1000.0] * 9) == 1
    assert limiter.slots()["used"].sum() == pytest.approx(2.0)


def test_the_table_holds_no_caller_in_clear_nor_a_hash_that_others_can_make(tmp_path: Path) -> None:
    one, other = (RateLimiter(tmp_path / name) for name in "ab")
    for limiter in (one, other):
        limiter.wait("address 203.0.113.9", 60, 5, 1000.0)
    assert number(one) != number(other)
    assert b"203.0.113.9" not in (tmp_path / "a").read_bytes()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    again = RateLimiter(tmp_path / "a")
    assert again.key() == one.key() != other.key()


def test_processes_follow_when_one_changes_the_key(tmp_path: Path) -> None:
    one, other = (RateLimiter(tmp_path / "rates") for _ in range(2))
    assert allowed(one, "a", [1000.0] * 9) == 5
    one.change_key(b"k" * KEY_BYTES)
    assert other.key() == b"k" * KEY_BYTES
    assert allowed(other, "a", [1000.0] * 9) == 5
    assert allowed(one, "a", [1000.0] * 9) == 0
