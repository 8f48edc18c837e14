"""The files of a folder that most likely answer a question, chosen before anything is parsed.

Files are scored by the question's words in their paths and texts, as BM25 would over whole files. The scan lowers and
counts bytes, which takes 7 ms a megabyte for five words: reading them line by line, or `git grep`, takes three times as
long.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.analysis import terms
from treeline.corpus.roles import is_aside
from treeline.encoder.registry import is_light
from treeline.engine.durable import fleeting
from treeline.engine.patterns import path_test
from treeline.engine.protocol import NO_FILTERS, Filters, Store
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import Listing
from treeline.ingest.sources.folder import Folder
from treeline.ingest.workers import processors

MOST_FILES = 120
MOST_BYTES = 1_200_000  # of these files together; 1.3 s for two cores
MOST_WORDS = 8  # of a question, the longest: they are the rarest
SCAN_S = 1.5
LARGEST = 300_000  # bytes; a larger file takes the place of many
K1, B = 1.2, 0.75  # BM25's
IN_NAME, IN_FOLDER = 1.5, 0.5  # a word in a path, in units of its rarity
ASIDE = 0.6  # the share that tests, examples and documents keep


def choose(folder: Folder, question: str, most: int, filters: Filters = NO_FILTERS) -> Folder:
    """The same folder with only those files that most likely answer a question, and pass what filters say of paths."""
    files, passes = folder.listing.files, path_test(filters)
    paths: list[str] = []
    room = MOST_BYTES
    for path in _ranked(folder, question):
        if passes(path) and files[path].size <= room and len(paths) < most:
            paths.append(path)
            room -= files[path].size
    listing = Listing({path: files[path] for path in sorted(paths)}, folder.listing.folders)
    return replace(folder, known_listing=listing, digests={})


def _ranked(folder: Folder, question: str) -> list[str]:
    """Every file, the best first."""
    files = folder.listing.files
    paths = list(files)
    words = [word.encode() for word in sorted(set(terms(question)), key=lambda one: (-len(one), one))[:MOST_WORDS]]
    sizes = np.array([files[path].size for path in paths])
    in_path = _in_paths(paths, words)
    counts, is_read = _scan(folder, paths, words, np.argsort(-in_path.sum(1), kind="stable"))
    number, in_files = is_read.sum(), (counts > 0).sum(0)
    rarity = np.log1p((number - in_files + 0.5) / (in_files + 0.5))
    length = K1 * (1 - B + B * sizes / max(1.0, sizes.mean()))[:, None]
    scores = ((counts * (K1 + 1) / (counts + length) + in_path) * rarity).sum(1)
    for row in np.flatnonzero(scores):
        scores[row] *= ASIDE if is_aside(paths[row]) else 1.0
    return [paths[position] for position in np.argsort(-scores, kind="stable")]


def _in_paths(paths: list[str], words: list[bytes]) -> NDArray[np.float64]:
    """The worth of each word's place in each path."""
    worth = np.zeros((len(paths), len(words)))
    for row, path in enumerate(paths):
        lower = os.fsencode(path).lower()
        name = lower[lower.rfind(b"/") + 1 :]
        for column, word in enumerate(words):
            if word in lower:
                worth[row, column] = IN_NAME if word in name else IN_FOLDER
    return worth


def _scan(
    folder: Folder, paths: list[str], words: list[bytes], order: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The count of each word in each file, and whether a file was read in time."""
    counts, is_read = np.zeros((len(paths), len(words))), np.zeros(len(paths), dtype=np.bool_)
    until = monotonic() + SCAN_S
    for row in order:
        if monotonic() > until:
            break
        is_read[row] = True
        if folder.listing.files[paths[row]].size <= LARGEST:
            lower = _content(f"{folder.root}/{paths[row]}").lower()
            counts[row] = [lower.count(word) for word in words]
    return counts, is_read


def _content(path: str) -> bytes:
    """A file's content by three calls of the system; `read_plain` takes three times as long."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, LARGEST)
    except OSError:  # what has become a folder
        return b""
    finally:
        os.close(handle)


def load_quickly(store: Store, index: str, folder: Folder, encoders: Sequence[str], work: Path) -> None:
    """Index a folder of a few files for one answer."""
    light = tuple(encoders) if all(map(is_light, encoders)) else ()
    options = LoadOptions(
        work=work,
        encoders=light,
        workers=processors() - 1,
        lazy_artifacts=True,
        may_empty=True,
        resumable=False,
    )
    with fleeting():
        load(store, index, [folder], options)
