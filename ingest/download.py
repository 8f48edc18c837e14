"""Fetch CodeSearchNet's official archives: with progress, taken up where they broke off, and checked."""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO

from treeline.corpus.errors import InputError, TreelineError
from treeline.ingest.source import ReadOptions

OFFICIAL = "https://s3.amazonaws.com/code-search-net/CodeSearchNet/v2"
# The published sizes of the official archives, in bytes.
LANGUAGES = {
    "go": 487_525_935,
    "java": 1_060_569_153,
    "javascript": 1_664_713_350,
    "php": 851_894_048,
    "python": 940_909_997,
    "ruby": 111_758_028,
}
SCHEMES = ("https://", "http://")
BLOCK = 1 << 20
# Without a byte for this long, the connection counts as broken.
SILENCE_S = 60
# In a row, each without a single new byte.
ATTEMPTS = 5
RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")
NOTHING_BEHIND = re.compile(r"bytes \*/(\d+)")
BREAKS = (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError)


def archive_path(language: str, options: ReadOptions) -> Path:
    return options.cache / "codesearchnet" / f"{language}.zip"


def fetch_archive(language: str, options: ReadOptions) -> Path:
    """The archive of a language, from the cache or from the network."""
    target = archive_path(language, options)
    if not target.exists():
        base = options.download_base or OFFICIAL
        expected = LANGUAGES[language] if base == OFFICIAL else 0
        fetch(f"{base.rstrip('/')}/{language}.zip", target, expected, options)
    return target


def fetch(url: str, target: Path, expected: int, options: ReadOptions) -> None:
    """Download `url`, resuming `target`.part; the file appears under its name only when it is whole."""
    if not url.startswith(SCHEMES):
        raise InputError(f"{url} cannot be downloaded", "only http and https addresses can")
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        total, failures = expected, 0
        while True:
            before = part.stat().st_size if part.exists() else 0
            if total and before >= total:
                break
            try:
                total = _attempt(url, part, before, expected, options)
            except BREAKS as broken:
                if isinstance(broken, urllib.error.HTTPError) and broken.code < 500:
                    raise TreelineError(f"{url}: the server says {broken.code} {broken.reason}") from broken
                after = part.stat().st_size if part.exists() else 0
                failures = 0 if after > before else failures + 1
                if failures >= ATTEMPTS:
                    hint = "run the command again: it goes on where it stopped"
                    raise TreelineError(f"{url}: the download broke off ({broken})", hint) from broken
        _check(part, expected or total, url)
        part.replace(target)
    except OSError as error:
        raise TreelineError(f"{target} cannot be written: {error.strerror or error}") from error


def _attempt(url: str, part: Path, have: int, expected: int, options: ReadOptions) -> int:
    """One connection, appended to what is there; gives the size of the whole."""
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310
    try:
        answer = urllib.request.urlopen(request, timeout=SILENCE_S)  # noqa: S310
    except urllib.error.HTTPError as refused:
        if refused.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        return _size_when_all_is_here(refused, part, have)
    with answer:
        ranged = RANGE.match(answer.headers.get("Content-Range", ""))
        continues = answer.status == 206 and ranged is not None and int(ranged[1]) == have
        length = int(answer.headers.get("Content-Length") or 0)
        total = int(ranged[2]) if continues and ranged else length
        if expected and total and total != expected:
            raise TreelineError(f"{url} has {total:,} bytes, not the published {expected:,}", "check the address")
        with part.open("ab" if continues else "wb") as file:
            done = have if continues else 0
            _copy(answer, file, done, total, url, options)
    size = total or part.stat().st_size
    if not size:
        raise ConnectionError("an empty answer came")
    return size


def _size_when_all_is_here(refused: urllib.error.HTTPError, part: Path, have: int) -> int:
    """The size of the whole, when nothing lies behind what is here; otherwise the next attempt begins anew."""
    named = NOTHING_BEHIND.match(refused.headers.get("Content-Range", ""))
    if named and have >= int(named[1]):
        return int(named[1])
    part.unlink()
    raise ConnectionError(f"the server has nothing from byte {have:,} on") from refused


def _copy(answer: IO[bytes], file: IO[bytes], done: int, total: int, url: str, options: ReadOptions) -> None:
    name = url.rpartition("/")[2]
    while block := answer.read(BLOCK):
        file.write(block)
        done += len(block)
        options.progress(f"downloading {name}", done, total)
    if done < total:
        raise ConnectionError(f"{done:,} of {total:,} bytes came")


def _check(part: Path, total: int, url: str) -> None:
    size = part.stat().st_size
    if size != total:
        part.unlink()
        raise TreelineError(f"{url}: {size:,} bytes came, {total:,} were promised", "run the command again")
    with part.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            part.unlink()
            raise TreelineError(f"{url} is not a zip archive", "check the address")
