"""What a load begins with: the index as it is, what it was made of, and the encoders that made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from treeline.corpus.errors import EncoderMismatch, IndexMissing, InputError
from treeline.encoder.loading import is_shipped
from treeline.encoder.protocol import DEFAULT_ENCODER, Encoder
from treeline.engine.protocol import Engine, Store
from treeline.ingest import manifest
from treeline.ingest.manifest import Manifest
from treeline.ingest.workers import load_encoders


@dataclass(frozen=True, slots=True)
class Beginning:
    """`previous` is nothing, and the manifest empty, for a new index."""

    previous: Engine | None
    before: Manifest
    encoders: dict[str, Encoder]

    def light_encoders(self) -> dict[str, Encoder]:
        """Those of which each worker can have one; a transformer takes all cores and much memory by itself."""
        return {name: encoder for name, encoder in self.encoders.items() if is_shipped(name)}

    def check_removable(self, name: str, unwanted: Sequence[str]) -> None:
        """Only a source of the index can be removed from it."""
        unknown = set(unwanted) - set(self.before.sources)
        if unknown:
            known = ", ".join(self.before.sources) or "none"
            raise InputError(f"index {name!r} has no source {min(unknown)!r}", f"its sources: {known}")

    def close(self) -> None:
        if self.previous is not None:
            self.previous.close()


def begin(store: Store, name: str, asked: Sequence[str], cache: Path, *, fresh: bool) -> Beginning:
    """Open the index, unless it is to be made afresh; `cache` is the file that keeps the vectors of slow encoders."""
    previous = None if fresh else _open(store, name)
    try:
        before = Manifest() if previous is None else _manifest(previous)
        return Beginning(previous, before, _encoders(previous, name, asked, cache))
    except BaseException:
        if previous is not None:
            previous.close()
        raise


def _open(store: Store, name: str) -> Engine | None:
    try:
        return store.open(name)
    except IndexMissing:
        return None


def _manifest(engine: Engine) -> Manifest:
    data = engine.artifact(manifest.ARTIFACT)
    if data is None:
        raise InputError(
            f"index {engine.info.name!r} has no manifest, so it cannot be brought up to date", "use --fresh"
        )
    return manifest.load(data)


def _encoders(previous: Engine | None, name: str, asked: Sequence[str], cache: Path) -> dict[str, Encoder]:
    """Those asked for, which have to be those of the index."""
    if previous is None:
        return load_encoders(asked or (DEFAULT_ENCODER,), cache)
    recorded = [spec.name for spec in previous.info.encoders]
    encoders = load_encoders(asked or recorded, cache)
    if list(encoders) != recorded:
        made, wanted = (" + ".join(names) or "none" for names in (recorded, list(encoders)))
        raise EncoderMismatch(
            f"index {name!r} was made with encoder {made}, not {wanted}",
            "make it anew with --fresh, or choose another --name",
        )
    return encoders
