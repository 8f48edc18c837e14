"""A generation's description, and checksums of its files, so that damage is named instead of answered from.

The manifest lists every file with its size and xxh3 digest, behind a digest of its own. Opening compares all sizes and
the digests of the small files; the large ones are verified in the background.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from itertools import accumulate
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import orjson
import xxhash

from treeline.corpus.errors import IndexDamaged, IndexOutdated, TreelineError
from treeline.engine.durable import WriterLock, write_atomically
from treeline.engine.protocol import EncoderSpec, IndexInfo

FILE = "manifest.json"
ARTIFACTS = "artifacts/"  # side products; search works without them
VERIFIED_AT_OPEN = 32 << 20  # bytes, smallest files first: some 10 ms
READ_AT_ONCE = 1 << 20
SKIPPED_FILES = (".lock", FILE, "rolled-back")

FORMAT = 10  # of a generation's files; another one is refused instead of misread
CURRENT = "current"
POINTER_SECONDS = 30.0

log = logging.getLogger(__name__)

Params = ParamSpec("Params")
Result = TypeVar("Result")


def checksum(data: bytes) -> str:
    return xxhash.xxh3_64_hexdigest(data)


def file_checksum(path: Path) -> str:
    digest = xxhash.xxh3_64()
    with path.open("rb") as file:
        while block := file.read(READ_AT_ONCE):
            digest.update(block)
    return digest.hexdigest()


def write_manifest(folder: Path, base: Path | None = None) -> None:
    """List every file of a complete generation. What it shares with its base is not read again."""
    known = Manifest(base) if base is not None else None
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(SKIPPED_FILES):
            name = path.relative_to(folder).as_posix()
            entry = known.entry_of(name, path) if known is not None else None
            files[name] = entry or (path.stat().st_size, file_checksum(path))
    content = orjson.dumps(files, option=orjson.OPT_INDENT_2)
    write_atomically(folder / FILE, f"{checksum(content)}\n".encode() + content)


class Manifest:
    """The files of one generation as they were written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        digest, _, content = (folder / FILE).read_bytes().partition(b"\n")
        if digest.decode("ascii", "replace") != checksum(content):
            raise IndexDamaged(str(folder), FILE)
        self._files: dict[str, tuple[int, str]] = orjson.loads(content)

    def entry_of(self, name: str, path: Path) -> tuple[int, str] | None:
        """The size and digest of a file, if this path is a link to it."""
        try:
            return self._files.get(name) if (self._folder / name).samefile(path) else None
        except OSError:
            return None

    def wrong_sizes(self) -> list[str]:
        """Files that are missing or have another size."""
        return [name for name, (size, _) in self._files.items() if _size(self._folder / name) != size]

    def wrong_contents(self, names: Iterable[str] | None = None) -> list[str]:
        """Of these files (none given: of all), those whose content is not what was written."""
        files = self._files if names is None else names
        return [name for name in files if not self._intact(name)]

    def by_size(self) -> tuple[list[str], list[str]]:
        """The small files, which are verified at once, and the large ones."""
        names = sorted(self._files, key=lambda name: self._files[name][0])
        totals = accumulate(self._files[name][0] for name in names)
        count = sum(total <= VERIFIED_AT_OPEN for total in totals)
        return names[:count], names[count:]

    def intact_artifact(self, name: str, data: bytes) -> bool:
        entry = self._files.get(ARTIFACTS + name)
        return entry is not None and entry[1] == checksum(data)

    def _intact(self, name: str) -> bool:
        size, digest = self._files[name]
        path = self._folder / name
        try:
            return _size(path) == size and file_checksum(path) == digest
        except OSError:
            return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


class Health:
    """The known damage of an open generation; without a manifest (in the making) nothing is checked."""

    def __init__(self, folder: Path, on_damage: Callable[[IndexDamaged], None] = lambda _: None) -> None:
        self._folder = folder
        self._on_damage = on_damage
        self.damaged: tuple[str, ...] = ()
        self.manifest: Manifest | None = None
        self._pending: list[str] = []
        self._verifying = threading.Lock()
        if (folder / FILE).exists():
            self.manifest = Manifest(folder)
            wrong = self.manifest.wrong_sizes()
            small, self._pending = self.manifest.by_size()
            self.report([*wrong, *self.manifest.wrong_contents(name for name in small if name not in wrong)])
            self.check()
        elif folder.name.isdigit():
            raise IndexDamaged(str(folder), FILE)

    def verify_in_background(self) -> None:
        if self._pending:
            with suppress(RuntimeError):  # no more threads
                threading.Thread(target=self.verify, name=f"verify-{self._folder.name}", daemon=True).start()

    def verify(self) -> None:
        """Read the files that opening left out."""
        with self._verifying:
            if self.manifest is not None and self._pending:
                if self._folder.is_dir():  # a pruned generation can still be read by those who opened it before
                    self.report(self.manifest.wrong_contents(self._pending))
                self._pending = []

    def report(self, files: Iterable[str]) -> None:
        """Add to the damaged files, and say so."""
        for file in files:
            if file not in self.damaged:
                self.damaged = (*self.damaged, file)
                log.warning("%s is damaged: %s", self._folder, file)
                if not file.startswith(ARTIFACTS):
                    self._on_damage(IndexDamaged(str(self._folder), file))

    def check(self) -> None:
        """Raise when a file that answers depend on is damaged."""
        for file in self.damaged:
            if not file.startswith(ARTIFACTS):
                raise IndexDamaged(str(self._folder), file)


def damage_check(method: Callable[Concatenate[Any, Params], Result]) -> Callable[Concatenate[Any, Params], Result]:
    """Raises `IndexDamaged` instead of an answer, or a traceback, from a damaged file.

    For methods of objects with a `health`; where that is None, nothing is checked.
    """

    @wraps(method)
    def call(owner: Any, /, *args: Params.args, **kwargs: Params.kwargs) -> Result:
        health: Health | None = owner.health
        if health is None:
            return method(owner, *args, **kwargs)
        health.check()
        try:
            return method(owner, *args, **kwargs)
        except (TreelineError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException:  # tantivy's panics are no `Exception`
            health.verify()
            health.check()
            raise

    return call


def read_info(folder: Path) -> IndexInfo:
    """The description of a complete generation."""
    info = orjson.loads((folder / "info.json").read_bytes())
    if not isinstance(info, dict):
        raise ValueError("info.json")
    if info["format"] != FORMAT:
        raise IndexOutdated(str(folder), info["format"], FORMAT)
    encoders = tuple(EncoderSpec(name, dimension) for name, dimension in info["encoders"])
    name, functions, created = info["name"], info["functions"], info["created"]
    return IndexInfo(name, "embedded", folder.name, functions, encoders, created, token=info.get("token", ""))


def write_info(info: IndexInfo, **more: Any) -> bytes:
    """The content of a generation's `info.json`."""
    return orjson.dumps(
        {
            "format": FORMAT,
            "name": info.name,
            "functions": info.functions,
            "encoders": [(encoder.name, encoder.dimension) for encoder in info.encoders],
            "created": info.created,
            "token": info.token,
            **more,
        },
        option=orjson.OPT_INDENT_2,
    )


def read_pointer(home: Path) -> str:
    """The generation that an index's pointer names; empty when there is none."""
    try:
        return (home / CURRENT).read_bytes().decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def next_generation(home: Path) -> str:
    """The name of the generation that is written next."""
    numbers = [int(path.name) for path in home.iterdir() if path.name.isdigit()]
    return f"{max(numbers, default=0) + 1:06d}"


def pointer_lock(home: Path) -> WriterLock:
    """Held while the pointer moves. A roll-back does not wait for the load in flight, whose lock is another."""
    return WriterLock(home / "pointer.lock", POINTER_SECONDS)
