"""Downloads CodeSearchNet: resumes broken downloads, checks size and hash.

An archive of a language comes from the original bucket or from Zenodo; the queries and annotations come from the
project's repository. A folder or URL of your own replaces them.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import orjson

from treeline.corpus.errors import InputError, TreelineError
from treeline.corpus.frozen import frozen
from treeline.ingest.source import ReadOptions

OFFICIAL = "https://s3.amazonaws.com/code-search-net/CodeSearchNet/v2"
ZENODO = "https://zenodo.org"
ZENODO_RECORD = "7857872"
REPOSITORY = "https://raw.githubusercontent.com/github/CodeSearchNet/master/resources"
# The published sizes of the official archives, in bytes.
LANGUAGES = {
    "go": 487_525_935,
    "java": 1_060_569_153,
    "javascript": 1_664_713_350,
    "php": 851_894_048,
    "python": 940_909_997,
    "ruby": 111_758_028,
}
# The two files of the evaluation, with their first lines.
QUERIES = {"queries.csv": b"query", "annotationStore.csv": b"Language,Query,GitHubUrl,Relevance,Notes"}
SCHEMES = ("https://", "http://")
BLOCK = 1 << 20
MAX_LIST_BYTES = 10_000_000
# Seconds without a byte after which a connection counts as broken.
SILENCE_S = 60
# Consecutive attempts without a new byte.
ATTEMPTS = 5
RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")
NOTHING_BEHIND = re.compile(r"bytes \*/(\d+)")
BREAKS = (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError)
ZIP_MARK = b"PK\x03\x04"


@frozen
class RemoteFile:
    """A file to download, with its size (0: unknown), hash (`md5:…`) and first bytes, where known."""

    url: str
    name: str
    size: int = 0
    digest: str = ""
    mark: bytes = ZIP_MARK


def archive_path(language: str, options: ReadOptions) -> Path:
    return options.cache / "codesearchnet" / f"{language}.zip"


def fetch_language(language: str, options: ReadOptions) -> Path:
    """The archive of a language: your own (or a folder of shards), cached, or downloaded now."""
    if (own := _own_folder(options)) is not None:
        for path in (own / f"{language}.zip", own / language, own / "codesearchnet" / f"{language}.zip"):
            if path.exists():
                return path
        raise InputError(f"{own} has neither {language}.zip nor a folder {language}", "put one of them there")
    target = archive_path(language, options)
    if target.exists():
        return target
    if base := options.download_base.rstrip("/"):
        fetch(_in_bucket(base, language), target, options)
        return target
    failures: list[str] = []
    for locate in (partial(_in_bucket, OFFICIAL), _in_zenodo):
        try:
            fetch(locate(language), target, options)
            return target
        except TreelineError as failure:
            failures.append(failure.message)
    raise TreelineError(
        f"CodeSearchNet's {language} archive cannot be downloaded ({'; '.join(failures)})",
        f"download {language}.zip by hand, for example from {ZENODO}/records/{ZENODO_RECORD}, and give its path: "
        f"codesearchnet:PATH, or put it at {target}",
    )


def fetch_queries(options: ReadOptions) -> Path:
    """The folder that holds the queries and their annotations."""
    if (own := _own_folder(options)) is not None:
        if missing := [name for name in QUERIES if not (own / name).is_file()]:
            raise InputError(f"{own} has no {' and no '.join(missing)}", "put them there")
        return own
    folder = options.cache / "codesearchnet"
    base = (options.download_base or REPOSITORY).rstrip("/")
    for name, first_line in QUERIES.items():
        if not (folder / name).exists():
            try:
                fetch(RemoteFile(f"{base}/{name}", name, mark=first_line), folder / name, options)
            except TreelineError as failure:
                raise TreelineError(
                    failure.message, f"get {name} from the repository github/CodeSearchNet and put it into {folder}"
                ) from failure
    return folder


def _own_folder(options: ReadOptions) -> Path | None:
    base = options.download_base
    return Path(base).expanduser() if base and "://" not in base and Path(base).expanduser().is_dir() else None


def _in_bucket(base: str, language: str) -> RemoteFile:
    size = LANGUAGES[language] if base == OFFICIAL else 0
    return RemoteFile(f"{base}/{language}.zip", f"{language}.zip", size)


def _in_zenodo(language: str) -> RemoteFile:
    """The archive as Zenodo lists it, with its address, size and hash."""
    name, record = f"{language}.zip", f"{ZENODO}/api/records/{ZENODO_RECORD}"
    try:
        with urllib.request.urlopen(record, timeout=SILENCE_S) as answer:  # noqa: S310 - one of ours
            files: Any = orjson.loads(answer.read(MAX_LIST_BYTES))["files"]
        file = next(file for file in files if file["key"] == name)
        return RemoteFile(file["links"]["self"], name, int(file["size"]), file["checksum"])
    except urllib.error.HTTPError as error:
        raise _refusal(record, error) from error
    except BREAKS as error:
        raise TreelineError(f"{record}: {error}") from error
    except (ValueError, LookupError, TypeError, StopIteration) as error:
        raise TreelineError(f"{record}: the answer does not list {name}") from error


def _refusal(url: str, error: urllib.error.HTTPError) -> TreelineError:
    error.close()
    return TreelineError(f"{url}: the server says {error.code} {error.reason}")


def fetch(file: RemoteFile, target: Path, options: ReadOptions) -> None:
    """Download a file, resuming `target`.part; it appears under its name when complete."""
    url = file.url
    if not url.startswith(SCHEMES):
        raise InputError(f"{url} cannot be downloaded", "only http and https addresses can")
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _forget_other(part, url)
        total, failures = file.size, 0
        while True:
            before = _size(part)
            if total and before >= total:
                break
            try:
                total = _attempt(file, part, before, options)
            except BREAKS as error:
                if isinstance(error, urllib.error.HTTPError):
                    refusal = _refusal(url, error)
                    if error.code < 500:
                        raise refusal from error
                failures = 0 if _size(part) > before else failures + 1
                if failures >= ATTEMPTS:
                    hint = "run the command again: it goes on where it stopped"
                    raise TreelineError(f"{url}: the download broke off ({error})", hint) from error
        for problem, hint in _problems(part, file.size or total, file):
            # A wrong file is deleted, so that the next attempt starts over.
            part.unlink()
            _origin(part).unlink(missing_ok=True)
            raise TreelineError(f"{url}{problem}", hint)
        _origin(part).unlink(missing_ok=True)
        part.replace(target)
    except OSError as error:
        raise TreelineError(f"{target} cannot be written: {error.strerror or error}") from error


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _origin(part: Path) -> Path:
    return part.with_name(part.name + ".url")


def _forget_other(part: Path, url: str) -> None:
    """Delete a partial download from another mirror: the files may differ."""
    origin = _origin(part)
    if origin.exists() and origin.read_text(encoding="utf-8", errors="replace") != url:
        part.unlink(missing_ok=True)
    origin.write_text(url, encoding="utf-8")


def _attempt(remote: RemoteFile, part: Path, have: int, options: ReadOptions) -> int:
    """One connection, appended to the partial file; returns the full size."""
    url = remote.url
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310
    try:
        answer = urllib.request.urlopen(request, timeout=SILENCE_S)  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        error.close()
        whole = NOTHING_BEHIND.match(error.headers.get("Content-Range", ""))
        if whole and have >= int(whole[1]):
            return int(whole[1])
        part.unlink()
        raise ConnectionError(f"the server has nothing from byte {have:,} on") from error
    with answer:
        span = RANGE.match(answer.headers.get("Content-Range", ""))
        continues = answer.status == 206 and span is not None and int(span[1]) == have
        total = int(span[2] if continues and span else answer.headers.get("Content-Length") or 0)
        if remote.size and total and total != remote.size:
            raise TreelineError(f"{url} has {total:,} bytes, not the published {remote.size:,}", "check the address")
        with part.open("ab" if continues else "wb") as file:
            _copy(answer, file, have if continues else 0, total, remote.name, options)
    size = total or part.stat().st_size
    if not size:
        raise ConnectionError("an empty answer came")
    return size


def _copy(answer: IO[bytes], file: IO[bytes], position: int, total: int, name: str, options: ReadOptions) -> None:
    while block := answer.read(BLOCK):
        file.write(block)
        position += len(block)
        options.progress(f"downloading {name}", position, total)
    if position < total:
        raise ConnectionError(f"{position:,} of {total:,} bytes came")


def _problems(part: Path, total: int, file: RemoteFile) -> Iterator[tuple[str, str]]:
    """Size, first bytes and hash that are not as they should be."""
    size = part.stat().st_size
    if size != total:
        yield f": {size:,} bytes came, {total:,} were promised", "run the command again"
    with part.open("rb") as stream:
        if not stream.read(len(file.mark)).startswith(file.mark):
            yield f" is not {'a zip archive' if file.mark == ZIP_MARK else file.name}", "check the address"
        algorithm, _, hash_value = file.digest.partition(":")
        if algorithm in hashlib.algorithms_available and hash_value:
            stream.seek(0)
            if hashlib.file_digest(stream, algorithm).hexdigest() != hash_value.lower():
                yield f" has another {algorithm} hash than published", "run the command again"
