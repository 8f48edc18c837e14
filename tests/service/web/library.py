"""A small real index for the web's tests: modules of the standard library as two repositories, a hostile record and one
that is written from right to left."""

from __future__ import annotations

import json
import shutil
import sysconfig
from pathlib import Path

from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.sources import open_source

INDEX = "library"
REPOSITORIES = {
    "text": ("textwrap", "string", "json/decoder", "json/encoder", "csv", "html/parser", "shlex", "difflib"),
    "system": ("shutil", "tempfile", "heapq", "bisect", "sched", "queue", "urllib/parse", "zipfile", "statistics"),
}
HOSTILE = {
    "repo": "evil/<img src=x onerror=alert(1)>",
    "path": "a\u202e/gnp.py",
    "func_name": "steal\"><script>alert('name')</script>",
    "original_string": "def steal_cookies():\n    '''</pre><script>alert('d')</script>'''\n    return '\u202e</code>'",
    "language": "python",
    "code": "def steal_cookies():\n    return '\u202e</code><script>alert(2)</script>'",
    "code_tokens": ["def", "steal_cookies"],
    "docstring": "Steal cookies <script>alert('doc')</script> <b onclick=alert(1)>quickly\u2066</b>.",
    "docstring_tokens": ["Steal", "cookies"],
    "sha": "0" * 40,
    "partition": "train",
    "url": "javascript:alert('url')//#L1-L3",
}
LINKED = HOSTILE | {
    "repo": "good/cookies",
    "path": "jar.py",
    "func_name": "CookieJar.open",
    "original_string": "def open(self):\n        return eat_cookies(self)",
    "code": "def open(self):\n        return eat_cookies(self)",
    "docstring": "Open the jar and eat all cookies.",
    "url": "https://example.org/good/cookies/blob/main/jar.py#L10-L12",
}

FOREIGN = HOSTILE | {
    "repo": "عربي/مستودع",
    "path": "أدوات/رابط.py",
    "func_name": "تحليل",
    "original_string": "def تحليل(رابط):\n    return رابط.split('/')",
    "code": "def تحليل(رابط):\n    return رابط.split('/')",
    "docstring": "تحليل الرابط إلى أجزاء.\n\n" + "\n\n".join(f"Paragraph {number}." for number in range(60)),
    "url": "https://example.org/foreign.py#L1-L2",
}


def make_library(home: Path) -> None:
    """Index it in this home, through the loading pipeline."""
    sources = home.parent / "sources"
    standard = Path(sysconfig.get_paths()["stdlib"])
    for repository, modules in REPOSITORIES.items():
        for module in modules:
            target = sources / repository / f"{module}.py"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(standard / f"{module}.py", target)
    records = sources / "records.jsonl"
    records.write_text("".join(json.dumps(record) + "\n" for record in (HOSTILE, LINKED, FOREIGN)), encoding="utf-8")
    specs = [str(sources / repository) for repository in REPOSITORIES] + [str(records)]
    load(
        EmbeddedStore(home),
        INDEX,
        [open_source(spec) for spec in specs],
        LoadOptions(work=home.parent / "work", workers=0),
    )
