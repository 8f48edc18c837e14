"""Downloads CodeSearchNet: tries known mirrors in order, resumes broken downloads, checks size and hash.

An archive of a language comes from the original bucket, from Zenodo, or from Hugging Face (as the same zip, or as
parquet files); the queries and annotations come from the project's repository. A folder or URL of your own replaces
all of them.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote, urlsplit

import orjson

from treeline.corpus.errors import InputError, TreelineError
from treeline.corpus.frozen import frozen
from treeline.ingest.source import ReadOptions

OFFICIAL = "https://s3.amazonaws.com/code-search-net/CodeSearchNet/v2"
ZENODO = "https://zenodo.org"
ZENODO_RECORD = "7857872"
HUGGING_FACE = "https://huggingface.co"
DATA_SET = "code-search-net/code_search_net"
# Its own files, and the parquet files that the site makes of them.
BRANCHES = ("main", "refs%2Fconvert%2Fparquet")
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
ZIP_MARK, PARQUET_MARK = b"PK\x03\x04", b"PAR1"
KINDS = {ZIP_MARK: "a zip archive", PARQUET_MARK: "a parquet file"}


@frozen
class RemoteFile:
    """A file to download, with its size (0: unknown), hash (`sha256:…`) and first bytes, where known."""

    url: str
    name: str
    size: int = 0
    digest: str = ""
    mark: bytes = ZIP_MARK


# Lists a mirror's files for a language; empty if it has none.
Mirror = Callable[[str], Sequence[RemoteFile]]


def archive_path(language: str, options: ReadOptions) -> Path:
    return options.cache / "codesearchnet" / f"{language}.zip"


def fetch_language(language: str, options: ReadOptions) -> Path:
    """The archive of a language, or the folder of its parquet files: your own, cached, or downloaded now."""
    if (own := _own_folder(options)) is not None:
        for found in (own / f"{language}.zip", own / language, own / "codesearchnet" / f"{language}.zip"):
            if found.exists():
                return found
        raise InputError(f"{own} has neither {language}.zip nor a folder {language}", "put one of them there")
    target = archive_path(language, options)
    parquet = target.with_suffix("")
    for found in (target, parquet):
        if found.exists():
            return found
    places = _mirrors(options)
    failures: list[str] = []
    for name, files_of in places:
        try:
            files = files_of(language)
            if not files:
                raise TreelineError(f"has no files of {language}")
            if len(files) == 1 and files[0].mark == ZIP_MARK:
                fetch(files[0], target, options)
                return target
            _fetch_all(files, parquet, options)
            return parquet
        except TreelineError as failed:
            if len(places) == 1:
                raise
            failures.append(f"{name}: {failed.message.removeprefix(name).lstrip(': ')}")
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
            except TreelineError as failed:
                raise TreelineError(
                    failed.message, f"get {name} from the repository github/CodeSearchNet and put it into {folder}"
                ) from failed
    return folder


def _own_folder(options: ReadOptions) -> Path | None:
    base = options.download_base
    return Path(base).expanduser() if base and "://" not in base and Path(base).expanduser().is_dir() else None


def _mirrors(options: ReadOptions) -> list[tuple[str, Mirror]]:
    if base := options.download_base.rstrip("/"):
        expected = LANGUAGES if base == OFFICIAL else {}
        return [(base, lambda language: _bucket(base, language, expected.get(language, 0)))]
    return [
        (urlsplit(OFFICIAL).netloc, lambda language: _bucket(OFFICIAL, language, LANGUAGES[language])),
        (urlsplit(ZENODO).netloc, _zenodo),
        (urlsplit(HUGGING_FACE).netloc, _hugging_face),
    ]


def _bucket(base: str, language: str, size: int) -> list[RemoteFile]:
    return [RemoteFile(f"{base}/{language}.zip", f"{language}.zip", size)]


def _zenodo(language: str) -> list[RemoteFile]:
    """Zenodo lists its files with their addresses, sizes and hashes (`md5:…`)."""
    record = _list(f"{ZENODO}/api/records/{ZENODO_RECORD}")
    wanted = f"{language}.zip"
    for file in record.get("files") or () if isinstance(record, dict) else ():
        if file.get("key") == wanted:
            url = (file.get("links") or {}).get("self") or f"{ZENODO}/records/{ZENODO_RECORD}/files/{wanted}"
            return [RemoteFile(str(url), wanted, int(file.get("size") or 0), str(file.get("checksum") or ""))]
    return []


def _hugging_face(language: str) -> list[RemoteFile]:
    """The zip, if the data set still has it, or the parquet files that replaced it."""
    failure: TreelineError | None = None
    for branch in BRANCHES:
        try:
            files = _list(f"{HUGGING_FACE}/api/datasets/{DATA_SET}/tree/{branch}?recursive=true")
        except TreelineError as failed:
            failure = failed
            continue
        found = [(PurePosixPath(str(file["path"])), file) for file in files if file.get("type") == "file"]
        zips = [(path, file) for path, file in found if path.name == f"{language}.zip"]
        parquet = [(path, file) for path, file in found if path.suffix == ".parquet" and language in path.parts]
        if zips or parquet:
            return [_hugging_face_file(branch, path, file) for path, file in zips[:1] or parquet]
    if failure is not None:
        raise failure
    return []


def _hugging_face_file(branch: str, path: PurePosixPath, file: dict[str, Any]) -> RemoteFile:
    stored = file.get("lfs") or {}
    url = f"{HUGGING_FACE}/datasets/{DATA_SET}/resolve/{branch}/{quote(str(path))}"
    # `python/train/0000.parquet`: the folder tells the partition. CodeSearchNet itself calls one of them `valid`.
    name = path.name if path.parent.name not in ("train", "validation", "test") else f"{path.parent.name}-{path.name}"
    name = re.sub(r"^validation(?=-)", "valid", name)
    digest = f"sha256:{stored['oid']}" if stored.get("oid") else ""
    mark = ZIP_MARK if path.suffix == ".zip" else PARQUET_MARK
    return RemoteFile(url, name, int(stored.get("size") or file.get("size") or 0), digest, mark)


def _list(url: str) -> Any:
    """The JSON at a URL."""
    try:
        with urllib.request.urlopen(url, timeout=SILENCE_S) as answer:  # noqa: S310 - one of ours
            return orjson.loads(answer.read(MAX_LIST_BYTES))
    except urllib.error.HTTPError as refused:
        refused.close()
        raise TreelineError(f"{url}: the server says {refused.code} {refused.reason}") from refused
    except BREAKS as broken:
        raise TreelineError(f"{url}: {broken}") from broken
    except ValueError as error:
        raise TreelineError(f"{url}: the answer is not JSON") from error


def _fetch_all(files: Sequence[RemoteFile], folder: Path, options: ReadOptions) -> None:
    """Download files into a folder, which appears under its name when complete."""
    coming = folder.with_name(f"{folder.name}.part")
    for file in files:
        if not (coming / file.name).exists():
            fetch(file, coming / file.name, options)
    shutil.rmtree(folder, ignore_errors=True)
    coming.replace(folder)


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
            before = part.stat().st_size if part.exists() else 0
            if total and before >= total:
                break
            try:
                total = _attempt(file, part, before, options)
            except BREAKS as broken:
                if isinstance(broken, urllib.error.HTTPError):
                    broken.close()
                if isinstance(broken, urllib.error.HTTPError) and broken.code < 500:
                    raise TreelineError(f"{url}: the server says {broken.code} {broken.reason}") from broken
                after = part.stat().st_size if part.exists() else 0
                failures = 0 if after > before else failures + 1
                if failures >= ATTEMPTS:
                    hint = "run the command again: it goes on where it stopped"
                    raise TreelineError(f"{url}: the download broke off ({broken})", hint) from broken
        _check(part, file.size or total, file)
        _origin(part).unlink(missing_ok=True)
        part.replace(target)
    except OSError as error:
        raise TreelineError(f"{target} cannot be written: {error.strerror or error}") from error


def _origin(part: Path) -> Path:
    return part.with_name(part.name + ".url")


def _forget_other(part: Path, url: str) -> None:
    """Delete a partial download from another mirror: the files may differ."""
    origin = _origin(part)
    if origin.exists() and origin.read_text(encoding="utf-8", errors="replace") != url:
        part.unlink(missing_ok=True)
    origin.write_text(url, encoding="utf-8")


def _attempt(wanted: RemoteFile, part: Path, have: int, options: ReadOptions) -> int:
    """One connection, appended to the partial file; returns the full size."""
    url, expected = wanted.url, wanted.size
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
            _copy(answer, file, done, total, wanted.name, options)
    size = total or part.stat().st_size
    if not size:
        raise ConnectionError("an empty answer came")
    return size


def _size_when_all_is_here(refused: urllib.error.HTTPError, part: Path, have: int) -> int:
    """The full size if the file is complete; otherwise the next attempt starts over."""
    refused.close()
    named = NOTHING_BEHIND.match(refused.headers.get("Content-Range", ""))
    if named and have >= int(named[1]):
        return int(named[1])
    part.unlink()
    raise ConnectionError(f"the server has nothing from byte {have:,} on") from refused


def _copy(answer: IO[bytes], file: IO[bytes], done: int, total: int, name: str, options: ReadOptions) -> None:
    while block := answer.read(BLOCK):
        file.write(block)
        done += len(block)
        options.progress(f"downloading {name}", done, total)
    if done < total:
        raise ConnectionError(f"{done:,} of {total:,} bytes came")


def _check(part: Path, total: int, file: RemoteFile) -> None:
    """Check size, first bytes and hash; a wrong file is deleted, so that the next attempt starts over."""
    for problem, hint in _problems(part, total, file):
        part.unlink()
        _origin(part).unlink(missing_ok=True)
        raise TreelineError(f"{file.url}{problem}", hint)


def _problems(part: Path, total: int, file: RemoteFile) -> Iterator[tuple[str, str]]:
    size = part.stat().st_size
    if size != total:
        yield f": {size:,} bytes came, {total:,} were promised", "run the command again"
    with part.open("rb") as stream:
        if not stream.read(len(file.mark)).startswith(file.mark):
            yield f" is not {KINDS.get(file.mark, file.name)}", "check the address"
        algorithm, _, expected = file.digest.partition(":")
        if algorithm in hashlib.algorithms_available and expected:
            stream.seek(0)
            if hashlib.file_digest(stream, algorithm).hexdigest() != expected.lower():
                yield f" has another {algorithm} hash than published", "run the command again"
