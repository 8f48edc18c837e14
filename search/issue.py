"""Reads a pasted text (an issue, a log, a failing test's output, a diff): title, prose, code, frames, messages, names.

Nothing in it is syntax: no filter, no exclusion, no required phrase. What a template asks for (versions, check boxes,
system information) is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from treeline.corpus.analysis import terms
from treeline.corpus.counting import counted
from treeline.corpus.frozen import frozen
from treeline.search.query import identifiers
from treeline.search.structure import CALLED_IN, LINE_OF, PATH, Location, parse_path, parse_place

READ_LETTERS = 20_000  # of a pasted text: what is said later is a log
LONGEST_LINE = 2_000
MOST_NAMES, MOST_PLACES, MOST_MESSAGES = 20, 20, 3
MOST_TERMS = 80  # of the words that the keyword lane gets
PROSE_WORDS = 150  # of the prose that is encoded: the beginning says what it is about
NAMES_ENCODED = 5
DIFF_CONTEXT = 3  # lines of a hunk before the first that changed
TITLE_WEIGHT, NAME_WEIGHT = 4, 2  # how often the words of the title and of the names count

COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
FENCE = re.compile(r"\s*(?:```|~~~)")
HEADING = re.compile(r" {0,3}(?:#{1,6}\s+|\*\*)(.{1,80}?)(?:\*\*)?:?\s*$")
BOX = re.compile(r"\s*[-*]\s*\[[ xX]\]")
PROMPT = re.compile(r"\s*(?:>>>|\.\.\.|\$|In \[\d+\]:) ?")
INDENTED = re.compile(r"(?: {4}|\t)\S")
DIFF = re.compile(r"(?:diff --git |--- |\+\+\+ |@@ )")
CHANGED_FILE, HUNK = re.compile(r"(?:\+\+\+|---) (?:[ab]/)?(\S+)"), re.compile(r"@@ -(\d{1,9})")
# Sections of templates that describe the machine, not the fault.
SYSTEM = re.compile(
    r"(?:software |your )?(?:versions?|environment|system|operating system|platform|os\b|configuration details"
    r"|checklist|pre-?checks?|additional context|screenshots?|how did you install|are you willing|dependencies)",
    re.IGNORECASE,
)
# `Python version: 3.9`
FACT = re.compile(r"\s*[-*]?\s*(?:\*\*)?[A-Za-z][\w -]{0,30}(?:\*\*)?\s*[:=]\s*(?:\*\*)?\s*\S{1,40}$")
MESSAGE = re.compile(
    r"(?:.{0,40}(?:Uncaught|Caused by:|thread \"[^\"]{0,40}\")|E )?"
    # Looked for in the whole text, where `\s*` is quadratic in blank lines.
    r"[^\S\n]{0,100}(?:[\w.$\\]{1,100}(?:Error|Exception|Warning|Failure)|panic|fatal|error(?:\[\w+\])?)"
    r"\b[^:\n]{0,40}:\s+(.{8,300})"
)
FRAME = re.compile(r"\s*(?:at \S|#\d{1,3} |[\w./-]{1,200}(?:\(\*\w{1,60}\))?[\w.]{0,200}\(.*\)$)")
# Stamps of logs and what an e-mail's subject begins with; lines that say nothing of the fault.
STAMP = re.compile(
    r"^(?:\d{4}-\d\d-\d\d[T ][\d:.,]+Z? |Subject: (?:(?:Re|Fwd?): )*(?:\[[^\]\n]{1,40}\] )?)", re.MULTILINE
)
NOISE = re.compile(
    r"={3,}|index [0-9a-f]{3,40}\.\.|##\[|\[signal |goroutine \d|(?:From|To|Cc|Date|Message-ID): |Failures:$"
    r"|Stack trace:$|Traceback \("
)
CODE = (PROMPT, INDENTED, DIFF, MESSAGE, FRAME)  # how lines of code or output begin
FRAME_NAME = re.compile(r'(?:\bFile "[^"\n]{1,500}", line \d{1,9}, in |^\s*at (?:new )?)([\w.$<>]+)')
QUOTED_NAME = re.compile(r"`([\w.:#>$-]{2,80})(?:\([^`]{0,80}\))?`")
# `https://…/owner/repo/blob/main/src/a.py#L12`: only the path in the repository says something.
URL = re.compile(r"https?://(?:[^\s)>\]]*?/blob/[^/\s]{1,100}/([^\s)>\]\"'`]+)|\S{1,2000})")
MENTIONED = re.compile(rf"(?<![\w/.-])(?:{PATH.pattern})(?![\w/])", re.IGNORECASE)
CALLED = re.compile(r"\b([A-Za-z_]\w{2,60})\(")


@frozen
class Issue:
    """The parts of a pasted text. The likeliest of `names` and `places` come first."""

    title: str
    prose: str
    names: tuple[str, ...]
    places: tuple[Location, ...]
    messages: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The terms to search for; those of the title and of names are repeated, so that they count more."""
        weights: Counter[str] = Counter()
        for text, weight in ((self.title, TITLE_WEIGHT), (" ".join(self.names), NAME_WEIGHT), (self.prose, 1)):
            weights.update(dict.fromkeys(terms(text), weight))
        for text in self.messages:
            weights.update(dict.fromkeys(terms(text), 1))
        return [word for word, weight in weights.most_common(MOST_TERMS) for _ in range(weight)]

    @property
    def texts(self) -> list[str]:
        """The texts whose mean is looked for by meaning."""
        prose = " ".join(self.prose.split()[:PROSE_WORDS])
        return [self.title, f"{self.title} {prose} {' '.join(self.names[:NAMES_ENCODED])}"]

    @property
    def summary(self) -> str:
        """`its first line, 2 places, 3 names`."""
        parts = ((len(self.places), "place"), (len(self.names), "name"), (len(self.messages), "message"))
        return ", ".join(["its first line", *(counted(number, noun) for number, noun in parts if number)])


def read_issue(text: str) -> Issue:
    """The parts of a pasted text."""
    text = STAMP.sub("", COMMENT.sub(" ", text[:READ_LETTERS]))
    text = URL.sub(lambda url: (url[1] or " ").replace("#L", ":"), text)
    prose: list[str] = []
    code: list[str] = []
    for line, is_code in _lines(text):
        (code if is_code else prose).append(line)
    messages = [line for line in code if MESSAGE.match(line)]
    first = next((line for line in text.splitlines() if line.strip() and not NOISE.match(line)), "")
    # Of a traceback the message, also where lines follow it that look like prose.
    lines = (*messages, *prose) if FRAME.match(first) or first in messages else (*prose, *messages)
    title = next((line for line in (*lines, *code) if line.strip()), "")
    if title in prose:
        prose.remove(title)
    names = Counter[str]()
    for source, weight in ((title, 6), ("\n".join(prose), 2), ("\n".join(code), 1)):
        for name in [*QUOTED_NAME.findall(source), *identifiers(source)]:
            names[name.removesuffix("()")] += weight
    for line in code:
        names.update(FRAME_NAME.findall(line))
    names.update(set(CALLED.findall("\n".join(code))))
    whole = "\n".join([title, *prose, *code])
    return Issue(
        title=title.strip("#_> \t"),
        prose="\n".join(prose),
        names=tuple(name for name, _ in names.most_common(MOST_NAMES)),
        places=tuple(dict.fromkeys(_places(whole)))[:MOST_PLACES],
        messages=tuple(dict.fromkeys(MESSAGE.findall(whole)))[:MOST_MESSAGES],
    )


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines without a template's, each with whether it is code or output."""
    is_fenced = is_system = False
    for line in text.splitlines():
        line = line[:LONGEST_LINE]
        if FENCE.match(line):
            is_fenced = not is_fenced
        elif is_fenced:
            if not is_system:
                yield line, True
        elif heading := HEADING.fullmatch(line):
            is_system = SYSTEM.match(heading[1]) is not None
            if not is_system and len(heading[1].split()) > 3:
                yield heading[1], False
        elif not (is_system or BOX.match(line) or FACT.fullmatch(line) or NOISE.match(line)):
            yield line, any(pattern.match(line) for pattern in CODE) or CALLED_IN.search(line) is not None


def _places(text: str) -> Iterator[Location]:
    """Frames, the likeliest first (Python's last call comes last), changed lines of a diff, then paths."""
    changed = ""
    calls: list[Location | None] = []
    others: list[Location | None] = []
    for line in text.splitlines():
        if file := CHANGED_FILE.match(line):
            changed = file[1]
        elif (hunk := HUNK.match(line)) and changed:
            others.append(Location(changed, int(hunk[1]) + DIFF_CONTEXT))
        elif CALLED_IN.search(line):
            calls.append(parse_place(line))
        elif LINE_OF.search(line):
            others.append(parse_place(line))
        else:
            paths = (parse_path(path[0]) for path in MENTIONED.finditer(line))
            others += [path for path in paths if path and path.certain]
    yield from filter(None, (*reversed(calls), *others))
