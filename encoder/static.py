"""The static encoder: weighted means of token and pair vectors per field, and one small layer; numpy only."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.analysis import words_of
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.protocol import DEFAULT_ENCODER, Vectors, add_to_functions, add_to_queries, check_version, unit
from treeline.encoder.text import LONGEST_TEXT, Fields, fields

MODEL_FOLDER = Path(__file__).parent / "model"
CONFIG, VOCABULARY, TENSORS = "config.json", "vocabulary.txt", "model.safetensors"
FIELDS = ("name", "docstring", "code", "place")  # order of the weight rows; the query's row comes last
QUERY = len(FIELDS)
MATRICES = ("table", "function_first", "function_second", "query_first", "query_second")  # int8, one scale per row
USUAL = 0.5  # cosine of a best answer; the median is .57 for docstrings, .64 on the web (docs/research/lanes.md)
# The safetensors types that the encoder uses.
DTYPES = {"F32": "<f4", "F16": "<f2", "I8": "<i1", "U16": "<u2", "I32": "<i4", "I64": "<i8", "U8": "<u1"}
CONTEXT = 0.2  # the length of the vector of a file's description beside that of a unit in it
BATCH = 1_024  # functions per sparse product: large enough to vectorise, small enough for the cache

# Text to bags of token ids: split identifiers, WordPiece tokens, and known pairs of neighbours.
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
INNER_MARK = "##"  # WordPiece's mark of a piece inside a word
LONGEST_WORD = 40  # characters read of one part; longer ones are data, not words
LONGEST_IDENTIFIER = 200
CACHED_WORDS = 500_000  # identifiers cached with their ids, at most about 100 MB


def identifier_parts(text: str) -> list[str]:
    """The lower-case words of a text, with identifiers split at case changes, digits and underscores."""
    return [part.lower() for part in PART.findall(text)]


class Tokenizer:
    """Greedy WordPiece over split identifiers, plus known pairs of neighbours.

    Ids number the vocabulary, then the pairs (rows of two ids, in order), then a few rows that words in other scripts
    share by hash.
    """

    def __init__(self, vocabulary: Sequence[str], pairs: NDArray[np.integer] | None = None, unknown: int = 0) -> None:
        self.vocabulary = list(vocabulary)
        self.pairs = np.empty((0, 2), np.uint16) if pairs is None else pairs
        self.unknown = unknown
        self._pair_keys = pair_keys(*self.pairs.T)
        self._ids = dict(zip(self.vocabulary, range(len(self.vocabulary)), strict=True))
        self._longest = min(max(map(len, self.vocabulary), default=1), LONGEST_WORD)
        self._words = _Words(self)

    @property
    def size(self) -> int:
        return len(self.vocabulary) + len(self.pairs) + self.unknown

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def ids(self, text: str, limit: int) -> list[int]:
        """The first `limit` token ids of a text."""
        return list(memoryview(self._id_bytes(text, limit)).cast("i"))

    def _id_bytes(self, text: str, limit: int) -> bytes:
        """The same as the bytes of 32-bit numbers: joined they are an array, and no list is made."""
        return b"".join(map(self._words.__getitem__, words_of(text)))[: 4 * limit]

    def word_ids(self, word: str) -> tuple[int, ...]:
        """The token ids of one identifier."""
        parts = identifier_parts(word[:LONGEST_IDENTIFIER])
        pieces = list(chain.from_iterable(self._pieces(part[:LONGEST_WORD]) for part in parts))
        return tuple(pieces or self._unknown(word))

    def _pieces(self, word: str) -> list[int]:
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark = INNER_MARK if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self._ids.get(mark + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                start += 1
        return pieces

    def _unknown(self, word: str) -> list[int]:
        """The hashed row of a word in a script outside the vocabulary; equal words share it."""
        if not self.unknown:
            return []
        first = len(self.vocabulary) + len(self.pairs)
        return [first + crc32(word.lower().encode("utf-8", "surrogatepass")) % self.unknown]

    def bag_arrays(
        self, texts: Iterable[str], limit: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
        """Bags of several texts: log(1 + count) of tokens and pairs, so that repetition counts little; their ids; and
        the start of each text."""
        packs = [self._id_bytes(text, limit) for text in texts]
        lengths = np.fromiter(map(len, packs), dtype=np.int64, count=len(packs)) // 4
        flat = np.frombuffer(b"".join(packs), np.int32).astype(np.int64)
        rows = np.repeat(np.arange(len(packs), dtype=np.int64), lengths)
        places, known = self._pair_ids(flat)
        known &= rows[1:] == rows[:-1]
        keys = np.concatenate([rows * self.size + flat, rows[1:][known] * self.size + places[known]])
        unique, counts = np.unique(keys, return_counts=True)
        starts = np.searchsorted(unique, np.arange(len(packs) + 1, dtype=np.int64) * self.size)
        return np.log1p(counts).astype(np.float32), (unique % self.size).astype(np.int32), starts

    def bag(self, text: str, limit: int) -> Bag:
        """The row of one short text, counted in a loop, which is quicker for a dozen tokens."""
        ids = self.ids(text, limit)
        pairs, is_known = self._pair_ids(np.array(ids, dtype=np.int64))
        counts = Counter([*ids, *pairs[is_known].tolist()])
        distinct = sorted(counts)
        return Bag(np.array(distinct, dtype=np.int32), np.log1p([counts[id_] for id_ in distinct], dtype=np.float32))

    def _pair_ids(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """For each two neighbours the id of their pair, and whether the pair is known."""
        if not len(self.pairs) or len(ids) < 2:
            nothing = max(len(ids) - 1, 0)
            return np.zeros(nothing, np.int64), np.zeros(nothing, np.bool_)
        keys = pair_keys(ids[:-1], ids[1:])
        places = np.minimum(np.searchsorted(self._pair_keys, keys), len(self._pair_keys) - 1)
        return places + len(self.vocabulary), self._pair_keys[places] == keys


class Bag(NamedTuple):
    """The distinct ids of a text, and log(1 + count) of each."""

    ids: NDArray[np.int32]
    counts: NDArray[np.float32]


class _Words(dict[str, bytes]):
    """A cache of the ids of each identifier, as 32-bit numbers; source code repeats its words."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> bytes:
        if len(self) >= CACHED_WORDS:
            self.clear()
        known = self[word] = np.array(self._tokenizer.word_ids(word), np.int32).tobytes()
        return known


def pair_keys(first: NDArray[np.integer], second: NDArray[np.integer]) -> NDArray[np.int64]:
    """One sortable number per pair of token ids."""
    return first.astype(np.int64) << 32 | second.astype(np.int64)


class StaticEncoder:
    """A bag-of-tokens encoder distilled from a transformer; reads thousands of functions a second without torch."""

    usual = USUAL

    def __init__(self, folder: Path, name: str = "") -> None:
        config, tensors, vocabulary = _read(folder)
        try:
            self.name = name or f"{DEFAULT_ENCODER}:{config['version']}"
            self.limits = {field: int(config["limits"][field]) for field in (*FIELDS, "query")}
            self.tokenizer = Tokenizer(vocabulary, tensors["pairs"], int(config["unknown"]))
            self._rows, self._scale = tensors["table"], tensors["table_scale"].astype(np.float32)
            self._weights = tensors["weights"].astype(np.float32)
            self._gates = tensors["gates"].astype(np.float32)
            self._function_layer = _layer(tensors, "function")
            self._query_layer = _layer(tensors, "query")
        except KeyError as missing:
            raise InputError(f"the encoder in {folder} has no {missing}", "train or fetch it again") from missing
        if self._rows.shape[0] != self.tokenizer.size or self._weights.shape != (QUERY + 1, self.tokenizer.size):
            raise InputError(f"the encoder in {folder} is inconsistent", "train or fetch it again")
        self._table = np.empty(self._rows.shape, np.float32)
        self._is_wide = np.zeros(len(self._rows), np.bool_)  # the rows of the table that are filled
        self._learnt = int(self._rows.shape[1])  # the other component is the prior
        self.dimension = self._learnt + 1

    @classmethod
    def shipped(cls, name: str = DEFAULT_ENCODER) -> StaticEncoder:
        """The shipped encoder; `static:VERSION` requires the version that an index was made with."""
        encoder = _shipped_encoder()
        check_version(name, encoder.name)
        return encoder

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            vector = self._pool_question(text)
            if vector.any():
                row[:] = add_to_queries(unit(_through(self._query_layer, vector, vector)))
        return vectors

    def encode_functions(self, functions: Sequence[Function], contexts: Sequence[str] = ()) -> Vectors:
        """One unit row per function; `contexts` are texts about the file that each is in, or empty."""
        vectors = np.empty((len(functions), self.dimension), dtype=np.float32)
        for start in range(0, len(functions), BATCH):
            batch = functions[start : start + BATCH]
            own = self._directions(list(map(fields, batch)))
            if any(around := contexts[start : start + BATCH]):
                texts = {text: number for number, text in enumerate(dict.fromkeys(around))}
                about = self._directions([Fields("", text, "", "") for text in texts])
                own = np.where(
                    own.any(axis=1, keepdims=True), own + CONTEXT * about[[texts[text] for text in around]], own
                )
            vectors[start : start + len(batch)] = add_to_functions(unit(own), batch)
        return vectors

    def _directions(self, rows: Sequence[Fields]) -> Vectors:
        """One unit row per text, without the prior."""
        columns = zip(*rows, strict=True)
        parts = []
        for number, (field, texts) in enumerate(zip(FIELDS, columns, strict=True)):
            if self._function_layer is None and not self._gates[number]:  # a bag of words reads code alone
                texts = ("",) * len(texts)
            row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}  # units share the file's path
            pools = self._pool(*self.tokenizer.bag_arrays(row_of, self.limits[field]), number)
            parts.append(pools[[row_of[text] for text in texts]])
        total = np.asarray(sum(gate * part for gate, part in zip(self._gates, parts, strict=True)), dtype=np.float32)
        vectors = _through(self._function_layer, np.hstack(parts), total)
        return unit(np.where(total.any(axis=1, keepdims=True), vectors, np.float32(0.0)))  # zero vectors stay zero

    def _table_with(self, ids: NDArray[np.int32]) -> Vectors:
        """The table of token vectors in float32 with at least these rows: memory for a row is taken when it is used."""
        new = np.unique(ids[~self._is_wide[ids]])
        self._table[new] = self._rows[new].astype(np.float32) * self._scale[new, None]
        self._is_wide[new] = True
        return self._table

    def _pool_question(self, text: str) -> Vectors:
        """`_pool` for one short text, without a sparse matrix."""
        ids, counts = self.tokenizer.bag(text[:LONGEST_TEXT], self.limits["query"])
        if not len(ids):
            return np.zeros(self._learnt, dtype=np.float32)
        weights = counts * self._weights[QUERY].take(ids)
        rows = self._rows.take(ids, axis=0).astype(np.float32)
        return np.asarray((weights * self._scale.take(ids)) @ rows / weights.sum())

    def _pool(
        self, counts: NDArray[np.float32], ids: NDArray[np.int32], starts: NDArray[np.int64], field: int
    ) -> Vectors:
        """The weighted mean of the token vectors of each text; zeros for a text without tokens."""
        shares = counts * self._weights[field, ids]
        vectors = np.zeros((len(starts) - 1, self._learnt), dtype=np.float32)
        bounds = starts.tolist()
        table = self._table_with(ids)
        for row, start, end in zip(vectors, bounds, bounds[1:], strict=False):
            if end > start:
                weights = shares[start:end]
                np.dot(weights, table.take(ids[start:end], axis=0), out=row)
                row /= np.add.reduce(weights)
        return vectors


@cache
def _shipped_encoder() -> StaticEncoder:
    """Loaded once: its tables are read-only, and an indexing process searches too."""
    return StaticEncoder(MODEL_FOLDER)


def is_static(folder: Path) -> bool:
    """Whether the folder holds an encoder that `python -m lab.train static` wrote."""
    return (folder / VOCABULARY).is_file() and (folder / TENSORS).is_file()


Layer = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]


def _through(layer: Layer | None, inputs: Vectors, residual: Vectors) -> Vectors:
    """One hidden layer with a residual connection, so that words can change each other's meaning."""
    if layer is None:
        return residual
    first, first_bias, second, second_bias = layer
    outputs: Vectors = residual + np.maximum(inputs @ first + first_bias, 0.0) @ second + second_bias
    return outputs


def _layer(tensors: dict[str, NDArray[Any]], name: str) -> Layer | None:
    if f"{name}_first" not in tensors:
        return None
    first, second = (
        tensors[f"{name}_{part}"] * tensors[f"{name}_{part}_scale"].astype(np.float32)[:, None]
        for part in ("first", "second")
    )
    first_bias, second_bias = (tensors[f"{name}_{part}_bias"].astype(np.float32) for part in ("first", "second"))
    return first, first_bias, second, second_bias


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]], list[str]]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        vocabulary = (folder / VOCABULARY).read_text(encoding="utf-8").split("\n")
        tensors = _map_tensors(folder / TENSORS)
    except FileNotFoundError as error:
        raise InputError(f"no encoder in {folder}: {error}", "train one with `python -m lab.train static`") from error
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise InputError(f"the encoder in {folder} cannot be read: {error}", "train or fetch it again") from error
    return config, tensors, vocabulary


def _map_tensors(file: Path) -> dict[str, NDArray[Any]]:
    """The memory-mapped arrays of a safetensors file: a query reads a few rows of 15 MB."""
    data = np.memmap(file, dtype=np.uint8, mode="r")
    start = 8 + int(data[:8].view("<u8")[0])
    header = json.loads(data[8:start].tobytes())
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        arrays[name] = data[start + first : start + last].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


SUFFIXES = ("s", "es", "d", "ed", "ing", "ly", "r", "rs", "er", "ers", "or", "ors", "able", "ness", "al")
SHORTEST_STEM = 4  # letters; a shorter stem is as often the start of another word


def is_word(word: str, *, endings: bool = True) -> bool:
    """Whether a lower-case word is in the vocabulary, with or without an ending."""
    tokens = _shipped_encoder().tokenizer
    if word in tokens:
        return True
    if not endings:
        return False
    stems = (word.removesuffix(suffix) for suffix in SUFFIXES if word.endswith(suffix))
    return any(len(stem) >= SHORTEST_STEM and stem in tokens for stem in stems)
