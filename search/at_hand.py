"""The encoders of a live index, loaded once each; those that are not at hand are asked for again now and then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic

from treeline.corpus.errors import MAKE_ANEW, EncoderMismatch, InputError
from treeline.encoder.protocol import AbsentEncoder, Encoder
from treeline.engine.protocol import EncoderSpec

# Seconds until an encoder that was not at hand is asked for again: the hub may be back, a package installed.
ASK_EVERY = 60.0


class EncodersAtHand:
    """By the names in the index; `load` gets one by its name."""

    def __init__(self, index: str, load: Callable[[str], Encoder | None]) -> None:
        self.by_name: dict[str, Encoder] = {}
        self._index, self._load = index, load
        self._asked = monotonic()

    def have(self, specs: Sequence[EncoderSpec], *, or_without: bool) -> None:
        """Load those that are not here yet; what stands in for one that is not at hand says why, or it is raised."""
        for spec in specs:
            if spec.name not in self.by_name:
                try:
                    self.by_name[spec.name] = self._fitting(spec)
                except InputError as error:
                    if not or_without:
                        raise
                    self.by_name[spec.name] = AbsentEncoder(spec.name, spec.dimension, error)

    def one_came(self, specs: Sequence[EncoderSpec]) -> bool:
        """Whether one of these that was not at hand before is now."""
        absent = [spec for spec in specs if isinstance(self.by_name[spec.name], AbsentEncoder)]
        if not absent or monotonic() - self._asked < ASK_EVERY:
            return False
        self._asked = monotonic()
        for spec in absent:
            with suppress(InputError):
                self.by_name[spec.name] = self._fitting(spec)
        return not all(isinstance(self.by_name[spec.name], AbsentEncoder) for spec in absent)

    def _fitting(self, spec: EncoderSpec) -> Encoder:
        encoder = self._load(spec.name)
        if encoder is None or (encoder.name, encoder.dimension) != (spec.name, spec.dimension):
            made = f"{spec.name} ({spec.dimension} dimensions)"
            found = f"{encoder.name} ({encoder.dimension} dimensions)" if encoder else "none"
            raise EncoderMismatch(
                f"the index {self._index!r} was made with encoder {made}, at hand is {found}", MAKE_ANEW
            )
        return encoder
