"""The index behind the tools of an agent, its handles, and results as text within a token budget."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.search.answer import Member
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.resolve import Ambiguous, resolve
from treeline.search.settings import Settings
from treeline.service.mcp.indexing import allowed_folder
from treeline.service.present.text import summary, visible
from treeline.service.projects import refresh_project, settings_of

# Code runs at 3 to 4 characters a token with the usual tokenizers; the low end keeps the promise.
CHARACTERS_PER_TOKEN = 3
HANDLE_LENGTH = 8
MIN_BUDGET = 100  # tokens; below it not even one headline would fit
SUMMARY_LENGTH = 120
LEFT_OUT = "… {:,} more lines; ask for a part of them or a larger max_tokens"
CUT_MARK = "… cut; get_function with a larger max_tokens shows all"


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a list: a function, in a few words why it is there, and what matches inside it."""

    function: Function
    note: str = ""
    members: tuple[Member, ...] = ()


def tokens(text: str) -> int:
    """How many tokens a text takes, on the safe side."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def handle(function_id: str) -> str:
    """The short name an agent uses for a function; the whole id would cost some twenty tokens a result."""
    return function_id[:HANDLE_LENGTH]


def headline(item: Item) -> str:
    """`handle name  repo path:first-last  (note)`, and below it the summary and the members with their handles."""
    function = item.function
    lines = function.address.lines
    place = f"{function.path}:{lines[0]}-{lines[1]}" if lines else function.path
    first = visible(f"[{handle(function.id)}] {function.func_name}  {function.repo} {place}".replace("\n", " "))
    if item.note:
        first += f"  ({item.note})"
    told = visible(summary(function.docstring, SUMMARY_LENGTH))
    inside = [f"[{handle(one.id)}] {visible(one.signature)}" for one in item.members]
    return "\n  ".join(filter(None, (first, told, *inside)))


def fenced(function: Function, limit: int) -> str:
    """The function in a Markdown fence that its own backticks cannot close, cut at a line to `limit` characters."""
    code = visible(function.original_string).rstrip()
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    opening, closing = f"{fence}{function.language}\n", f"\n{fence}"
    room = limit - len(opening) - len(closing)
    if len(code) > room:
        kept = code[: max(0, room - len(CUT_MARK) - 1)].rpartition("\n")[0]
        if not kept:
            return ""
        code = f"{kept}\n{CUT_MARK}"
    return f"{opening}{code}{closing}"


def render(items: Sequence[Item], budget: int, *, opening: str = "", with_code: bool = True) -> str:
    """The list within `budget` tokens: as many headlines as fit, then code from the top while there is room."""
    room = budget * CHARACTERS_PER_TOKEN
    left_out = f"… {len(items)} more did not fit; ask for fewer or a larger max_tokens"
    blocks: list[str] = [opening[: room - len(left_out) - 1]] if opening else []
    used = sum(len(block) + 1 for block in blocks)
    headlines: list[str] = []
    for item in items:
        line = headline(item)
        if used + len(line) + 1 + len(left_out) + 1 > room:
            break
        headlines.append(line)
        used += len(line) + 1
    missing = len(items) - len(headlines)
    if missing:
        used += len(left_out) + 1
    for item, line in zip(items, headlines, strict=False):
        code = fenced(item.function, room - used - 1) if with_code and not missing else ""
        used += len(code) + 1 if code else 0
        blocks.append(f"{line}\n{code}" if code else line)
    if missing:
        blocks.append(f"… {missing} more did not fit; ask for fewer or a larger max_tokens")
    return "\n".join(blocks)


REMEMBERED = 10_000  # handles kept for one conversation


def within_budget(lines: Sequence[str], budget: int) -> str:
    """The lines, as many as fit into the budget; how many did not is said."""
    room = budget * CHARACTERS_PER_TOKEN
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < len(LEFT_OUT) and number < len(lines) - 1:
            return "\n".join([*lines[:number], LEFT_OUT.format(len(lines) - number)])
    return "\n".join(lines)


class Library:
    """The indexes behind the tools, and the handles they have given out.

    `follow` means the project that the server runs in, refreshed before it is asked, instead of the settings' index; a
    tool may name another folder. An agent may call several tools at once, each in a thread of its own.
    """

    def __init__(self, settings: Settings, searcher: LiveSearcher | None = None, *, follow: bool = False) -> None:
        self.settings = settings
        self.root = Path.cwd()  # of the project that was asked last; paths of files are relative to it
        self._follow = follow
        self._searcher = searcher
        self._open: dict[str, LiveSearcher] = {}
        self._handles: OrderedDict[str, tuple[str, LiveSearcher]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def searcher(self) -> LiveSearcher:
        """The index that was asked last, or that is asked where no folder is named."""
        with self._lock:
            if self._searcher is None and not self._follow:
                self._searcher = open_searcher(self.settings, without_encoder=True)
            if self._searcher is not None:
                return self._searcher
        return self.ask_project(self.root)

    def ask(self, repo: str) -> tuple[LiveSearcher, str]:
        """The searcher for a question, and what of `repo` is left as a filter: a folder names a project."""
        folder = Path(repo).expanduser() if repo else self.root
        if repo and (repo.startswith(("/", "~", ".")) or (self._follow and folder.is_dir())):
            return self.ask_project(allowed_folder(repo, self.settings)), ""
        if self._follow:
            return self.ask_project(self.root), repo
        return self.searcher, repo

    def ask_project(self, folder: Path) -> LiveSearcher:
        """The project around a folder, indexed or refreshed as the terminal does."""
        refreshed = refresh_project(self.settings, folder)
        project = refreshed.project
        with self._lock:
            found = self._open.get(project.index)
            if found is None:
                settings = settings_of(self.settings, project)
                found = self._open[project.index] = open_searcher(settings, without_encoder=True)
            self._searcher, self.root = found, project.root
        if refreshed.published:
            found.refresh()
        return found

    def refresh(self) -> None:
        if self._searcher is not None:
            self._searcher.refresh()

    def fetch(self, ids: list[str], searcher: LiveSearcher | None = None) -> dict[str, Function]:
        return {function.id: function for function in (searcher or self.searcher).engine.fetch(ids)}

    def show(
        self,
        items: list[Item],
        budget: int,
        opening: str = "",
        *,
        with_code: bool = True,
        searcher: LiveSearcher | None = None,
    ) -> str:
        """The list as text; its handles are remembered."""
        source = searcher or self.searcher
        with self._lock:
            for item in items:
                for id_ in (item.function.id, *(member.id for member in item.members)):
                    self._handles[handle(id_)] = (id_, source)
                    self._handles.move_to_end(handle(id_))
            while len(self._handles) > REMEMBERED:
                self._handles.popitem(last=False)
        return render(items, budget, opening=opening, with_code=with_code)

    def find(self, reference: str) -> tuple[Function, LiveSearcher]:
        """The function that a handle, an id or a name means, and the index it is in; several are told apart."""
        reference = reference.strip().strip("[]")
        identity, source = self._handles.get(reference[:HANDLE_LENGTH], ("", None))
        if source and identity.startswith(reference) and (function := source.function(identity)):
            return function, source
        try:
            searcher = self.searcher
            return resolve(searcher, reference, otherwise="search_code finds it by what it does"), searcher
        except Ambiguous as several:
            raise InputError(self._choice(several)) from None

    def _choice(self, several: Ambiguous) -> str:
        """The functions of one name with their handles; where there are more, how to narrow it down."""
        narrower = ", with a longer name (Class.name), or ask search_code for the name with a repo"
        said = f"{several.message}; ask again with one handle{narrower if several.more else ''}:"
        items = [Item(one) for one in several.functions]
        return self.show(items, self.settings.mcp_tokens, said, with_code=False)

    def file(self, path: str) -> Path:
        """A file of the project that was asked last, or below an allowed folder."""
        wanted = Path(path).expanduser()
        found = (wanted if wanted.is_absolute() else self.root / wanted).resolve()
        allowed_folder(str(found.parent), self.settings)
        if not found.is_file():
            raise InputError(f"{path} is not a file of {self.root}", "give the path as results have it")
        return found
