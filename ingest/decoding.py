"""A file's text for people to read: its encoding is the one that its parser uses."""

from __future__ import annotations

from treeline.ingest.parsers.registry import grammar_of

BINARY, BINARY_WITHIN = "binary", 8_000  # bytes: a file with a zero byte among the first is binary, as in git


def decode(path: str, content: bytes) -> tuple[str, str, bool]:
    """A file's text with `\\n` line ends, its encoding, and whether all of it could be decoded. Empty if binary."""
    if b"\0" in content[:BINARY_WITHIN]:
        return "", BINARY, False
    grammar = grammar_of(path, content)
    encoding = grammar.encoding_of(content) if grammar is not None else "utf-8"
    exact = True
    try:
        text = content.decode(encoding)
    except (UnicodeDecodeError, LookupError, ValueError):
        text, exact = content.decode("utf-8", "replace"), False
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), encoding, exact
