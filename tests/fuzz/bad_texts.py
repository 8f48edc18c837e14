"""Texts that have broken programs before: empty, huge, invisible, malformed, and made to keep a parser busy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

MEGABYTE = 1_000_000

BAD_TEXTS: dict[str, str] = {
    "empty": "",
    "blanks": " \t\r\n\v\f",
    "a megabyte of one letter": "a" * MEGABYTE,
    "a megabyte of words": "word " * (MEGABYTE // 5),
    "a megabyte of capitals": "aB" * (MEGABYTE // 2),
    "a megabyte of underscores": "_" * MEGABYTE,
    "a megabyte of line ends": "\n" * MEGABYTE,
    "NUL": "before\0after\0",
    "every control character": "".join(map(chr, range(32))) + "\x7f",
    "lone surrogates": "high \ud800 low \udfff",
    "private and unassigned": "\ue000\U000f0000\U0010ffff\uffff",
    "right to left": "\u202eparse\u202c שלום مرحبا \u2066x\u2069",
    "combining marks": "e" + "\u0301" * 5_000,
    "emoji": "👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿🇺🇳" * 100,
    "byte order mark": "\ufeffdef f(): pass",
    "full-width and other digits": "０１２３ ①② ٣٤ ⅷ x²",
    "case that grows": "ßİŉǰΐΰև" * 100,
    "regular expression": "(a+)+$ .* [ ( \\ ^(?:x|x)*$ {1,99999}",
    "regular-expression bomb": "a" * 30_000 + "!",
    "bomb for dotted names": "a." * 20_000 + "!",
    "bomb for camel case": "Aa" * 20_000 + "!",
    "bomb for snake case": "a_" * 20_000 + "!",
    "bomb for quotes": "`" * 20_000 + '"' * 20_000 + "'" * 20_000,
    "bomb for phrases": "what calls " * 5_000,
    "brackets": "(" * 50_000 + ")" * 50_000,
    "Lucene syntax": 'name:x AND (y OR "z~2"^4) -w [a TO b] *? \\ / { } !',
    "query-language JSON": '{"match_all": {}, "script": {"source": "while(true){}"}}',
    "SQL": "'; DROP TABLE feedback; --",
    "HTML": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "template": "{{ 7*7 }} {% for x in y %} ${x} #{x} %s %n {0.__class__}",
    "path": "../../../../etc/passwd\\..\\..",
    "URL": "javascript:alert(1) file:///etc/passwd http://[::1",
    "negative and huge numbers": "-1 -9223372036854775809 1e400 99999999999999999999999999 NaN Infinity -0",
}
SHORT_BAD_TEXTS = {name: text[:900] for name, text in BAD_TEXTS.items()}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What takes more of a processor than this on one input could be used to keep the service busy."""
    begin = time.process_time()
    yield
    took = time.process_time() - begin
    assert took < seconds, f"took {took:.1f} s"
