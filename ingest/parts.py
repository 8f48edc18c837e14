"""A load by several processes, perhaps on several machines: each reads its own files, the last to finish publishes.

Every loader lists all files of all sources and takes those of its part. What it read is in its journal, which it hands
in when it is done. The publisher merges the journals into one manifest, in the order in which one loader alone would
have read the files. It makes the index hold exactly the units of that manifest, and builds the side products from it.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from itertools import starmap
from pathlib import Path

from treeline.corpus.analysis import analyse
from treeline.corpus.errors import InputError, TreelineError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder
from treeline.engine.durable import disk_errors
from treeline.engine.protocol import Part, PartWriter
from treeline.ingest.journal import Journal, UnitProgress, open_journal
from treeline.ingest.source import Source
from treeline.ingest.state import ID, Entry, Manifest, entry_key, function_row, row_ids, split_rows

PART = re.compile(r"(\d{1,4})/(\d{1,4})")
PIECE_BYTES = 8_000_000  # of a journal, to hand in


def parse_part(text: str) -> Part:
    """`2/3` → the second of three."""
    found = PART.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise InputError(f"{text[:80]!r} is no part of a load", "write --part 2/3 for the second of three loaders")
    return Part(int(found[1]), int(found[2]))


def listing(sources: Iterable[Source]) -> str:
    """A digest of the list of all files: loaders with different lists would leave files out, or read them twice."""
    digest = blake2b(digest_size=16)
    for source in sources:
        for unit in source.units():
            digest.update(entry_key(source.name, unit.key).encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def pieces(journal: Path) -> Iterator[bytes]:
    """A journal that was synced, to hand in."""
    with journal.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


@frozen
class OtherParts:
    """What the other loaders read."""

    journals: Sequence[Journal]
    units: Mapping[str, UnitProgress]
    refused: Sequence[tuple[str, str]]

    def merge(self, own: Manifest, keys: Iterable[str]) -> Counter[str]:
        """Add the others' files, in the order of `keys`, to the manifest of this part; what they counted."""
        counts = Counter[str]()
        entries: dict[str, Entry] = {}
        for key in keys:
            entry = own.entries.get(key)
            if entry is None:
                source, _, unit = key.partition("\0")
                done = self.units.get(key)
                if done is None or not done.complete:
                    raise TreelineError(f"no loader has read {unit} of {source}", "start every part again")
                counts.update(done.counts)
                entry = Entry(source, done.digest, done.records, tuple(done.problems))
            entries[key] = entry
        own.entries = entries
        return counts


@contextmanager
def other_parts(writer: PartWriter, folder: Path) -> Iterator[OtherParts]:
    """The journals of the other parts, brought to this folder for as long as they are needed."""
    journals: list[Journal] = []
    units: dict[str, UnitProgress] = {}
    refused: list[tuple[str, str]] = []
    with ExitStack() as opened:
        shutil.rmtree(folder, ignore_errors=True)  # left by a publisher that was killed
        opened.callback(shutil.rmtree, folder, ignore_errors=True)
        with disk_errors(folder.parent):
            folder.mkdir()
        for number, checkpoint, handed_in in writer.other_parts():
            path = folder / str(number)
            with disk_errors(folder), path.open("wb") as file:
                file.writelines(handed_in)
            journal, found = open_journal(path, checkpoint)
            opened.callback(journal.close)
            journals.append(journal)
            units |= found.units
            refused += found.refused
        yield OtherParts(journals, units, refused)


def repair(writer: PartWriter, manifest: Manifest, sources: Sequence[Source], encoders: Mapping[str, Encoder]) -> None:
    """Make the generation hold the units of the manifest and no others, each as its first file has it.

    A unit may be in files of several parts (the same code at another commit). Then it is a matter of chance who wrote
    it last, and it is written again where that was not the first in the list.
    """
    order = list(dict.fromkeys(id for entry in manifest.entries.values() for id in row_ids(entry.records)))
    ids = [id.hex() for id in order]
    absent = {bytes.fromhex(id) for id in writer.reconcile(ids)}
    wrong = absent | _differing(writer, _ambiguous(manifest))
    if not wrong:
        return
    _write_again(writer, _first_files(manifest, wrong), sources, encoders)
    if still := writer.reconcile(ids):
        raise TreelineError(f"{len(still):,} units of the parts are not in the index", "start every part again")


def _ambiguous(manifest: Manifest) -> dict[bytes, bytes]:
    """The units that two files have in different versions: the row of the first."""
    seen: set[bytes] = set()
    repeated: set[bytes] = set()
    for entry in manifest.entries.values():
        for id in row_ids(entry.records):
            (repeated if id in seen else seen).add(id)
    if not repeated:
        return {}
    first: dict[bytes, bytes] = {}
    found: dict[bytes, bytes] = {}
    for entry in manifest.entries.values():
        for row in split_rows(entry.records):
            id = row[:ID]
            if id in repeated and first.setdefault(id, row) != row:
                found[id] = first[id]
    return found


def _differing(writer: PartWriter, wanted: Mapping[bytes, bytes]) -> set[bytes]:
    rows = starmap(function_row, writer.read([id.hex() for id in wanted])) if wanted else ()
    return {row[:ID] for row in rows if row != wanted[row[:ID]]}


def _first_files(manifest: Manifest, ids: Collection[bytes]) -> dict[str, set[str]]:
    """The files to read them from, and which of them each has."""
    left = set(ids)
    files: dict[str, set[str]] = {}
    for key, entry in manifest.entries.items():
        if own := left.intersection(row_ids(entry.records)):
            files[key] = {id.hex() for id in own}
            left -= own
    return files


def _write_again(
    writer: PartWriter, files: Mapping[str, set[str]], sources: Sequence[Source], encoders: Mapping[str, Encoder]
) -> None:
    for source in sources:
        for unit in source.units():
            wanted = files.get(entry_key(source.name, unit.key), set())
            functions: dict[str, tuple[Function, str]] = {}
            for chunk in unit.chunks() if wanted else ():
                parsed = chunk.parse()
                for function in parsed.functions:
                    if function.id in wanted and function.id not in functions:
                        functions[function.id] = function, parsed.shapes.get(function.id, "")
            if functions:
                chosen = [function for function, _ in functions.values()]
                terms = [analyse(function, shape=shape) for function, shape in functions.values()]
                vectors = {name: encoder.encode_functions(chosen) for name, encoder in encoders.items()}
                writer.write(chosen, terms, vectors)
