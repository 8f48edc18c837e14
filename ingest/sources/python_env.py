"""`python-env`: the standard library and the packages this project depends on, as installed."""

from __future__ import annotations

import platform
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from treeline.corpus.errors import InputError
from treeline.ingest.ignore import reason_by_name
from treeline.ingest.parsers.units import FileLocation
from treeline.ingest.source import ReadOptions, Unit, UnitList
from treeline.ingest.sources.folder import FileUnit, Folder, always

PROJECT = "treeline-search"
EVERYTHING = "*"
# Packages with more source than this (torch, plotly) are mostly generated, and read only on request.
GIANT_BYTES = 15_000_000
# Parts of the standard library that are programs or data, not a library.
NOT_LIBRARY = frozenset("idlelib turtledemo lib2to3 ensurepip pydoc_data lib-dynload __phello__".split())
REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[[^\]]*\])?[^;]*(?:;(.*))?")
EXTRA = re.compile(r"extra\s*==\s*[\"'](\w+)")
TEST_EXTRA = "test"
SEPARATORS = re.compile(r"[-_.]+")


def open_python_env(options: ReadOptions) -> UnitList:
    options = replace(options, include_tests=bool(options.include_tests))  # those of packages that are only used
    left_out: Counter[str] = Counter()
    units = [*_standard_library(options, left_out)]
    for name, package in sorted(_packages(options, left_out).items()):
        units += _of_package(name, package, options, left_out)
    return UnitList("python-env", tuple(units), left_out)


def _standard_library(options: ReadOptions, left_out: Counter[str]) -> Iterator[Unit]:
    root = Path(sysconfig.get_paths()["stdlib"])
    web = f"https://github.com/python/cpython/blob/v{platform.python_version()}/Lib"
    folder = Folder("python", root, "python", options)
    for path, stamp in folder.listing.files.items():
        if path.endswith(".py") and not NOT_LIBRARY & set(PurePosixPath(path).parts):
            location = FileLocation("python", path, "", f"{web}/{quote(path)}")
            yield FileUnit(root / path, f"python/{path}", stamp.size, always(location), options, left_out)
    left_out.update(folder.left_out)


def _packages(options: ReadOptions, left_out: Counter[str]) -> dict[str, Distribution]:
    """The packages to read, by normalized name: dependencies that are not too large, and those requested."""
    requests = {_normal(name) for name in options.packages} - {EVERYTHING}
    if EVERYTHING in options.packages:
        every = {_normal(one.metadata["Name"] or ""): one for one in distributions()}
        return {name: one for name, one in every.items() if name not in ("", PROJECT)}
    packages = _dependencies()
    giants = {name for name, one in packages.items() if _source_bytes(one) > GIANT_BYTES} - requests
    for name in sorted(giants):
        left_out[f"giant package {name} (on request)"] += 1
    packages = {name: one for name, one in packages.items() if name not in giants}
    for name in sorted(requests - packages.keys()):
        try:
            packages[name] = distribution(name)
        except PackageNotFoundError as missing:
            raise InputError(f"the package {name} is not installed", "install it, or leave it out") from missing
    return packages


def _dependencies() -> dict[str, Distribution]:
    """The project's direct and indirect dependencies that are installed, those of its extras too; not what tests it."""
    packages: dict[str, Distribution] = {}
    waiting = [PROJECT]
    while waiting:
        name = waiting.pop()
        if name in packages:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        packages[name] = package
        for requirement in package.requires or ():
            match = REQUIREMENT.match(requirement)
            extra = EXTRA.search((match and match[2]) or "")
            if match and (extra is None or (name == PROJECT and extra[1] != TEST_EXTRA)):
                waiting.append(_normal(match[1]))
    packages.pop(PROJECT, None)
    return packages


def _normal(name: str) -> str:
    return SEPARATORS.sub("-", name).lower()


def _sources(package: Distribution) -> Iterator[tuple[PurePosixPath, Path]]:
    """The Python files that the package lists inside its folder."""
    for file in package.files or ():
        path = PurePosixPath(file)
        if path.suffix == ".py" and not path.is_absolute() and ".." not in path.parts:
            yield path, Path(str(package.locate_file(file)))


def _source_bytes(package: Distribution) -> int:
    no_tests = ReadOptions(include_tests=False)
    return sum(_size(file) for path, file in _sources(package) if not reason_by_name(str(path), no_tests))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _of_package(name: str, package: Distribution, options: ReadOptions, left_out: Counter[str]) -> Iterator[Unit]:
    for path, file in sorted(_sources(package)):
        reason = "" if options.include_tests else reason_by_name(str(path), options)
        if reason:
            left_out[reason] += 1
        elif file.exists():
            location = FileLocation(name, str(path), "", file.absolute().as_uri())
            yield FileUnit(file.resolve(), f"{name}/{path}", _size(file), always(location), options, left_out)
