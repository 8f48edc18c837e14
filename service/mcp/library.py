"""The indexes behind an agent's tools, and the resolution of its references to functions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.query import Query
from treeline.search.resolve import Ambiguous, resolve
from treeline.search.settings import Settings, split_commas
from treeline.service.indexes import Indexes, search_several
from treeline.service.mcp.indexing import allowed_folder, allowed_roots, index_folder
from treeline.service.mcp.protocol import Reply
from treeline.service.mcp.text import HANDLE_LENGTH, Item, handle, numbered_lines, render, skip_lines, tokens
from treeline.service.present.text import visible
from treeline.service.projects import SECRETS_HINT, has_index, local_path, refresh_project, settings_of
from treeline.service.quick import QuickSearcher, look

if TYPE_CHECKING:
    from treeline.ingest.project import Refreshed
    from treeline.search.answer import Answer

SECRET_BYTES = 2_000_000  # of a file's beginning, and around the lines read, searched for secrets
MOST_HANDLES = 10_000  # handles kept for one conversation


class Library:
    """The indexes behind the tools, and the handles they have given out.

    With `follow`, it searches the project around the first allowed folder, refreshed before each search, instead of
    the settings' index. A tool may name another folder. An agent may call several tools at once, in several threads.
    """

    def __init__(self, settings: Settings, searcher: LiveSearcher | None = None, *, follow: bool = False) -> None:
        self.settings = settings
        self.root = allowed_roots(settings)[0]  # of the project searched last; file paths are relative to it
        self.indexes = Indexes(settings)
        self._follow = follow
        self._searcher = searcher
        self._open: dict[str, LiveSearcher] = {}
        self._handles: OrderedDict[str, tuple[str, LiveSearcher]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def searcher(self) -> LiveSearcher:
        """The index searched last, or the default one."""
        with self._lock:
            if self._searcher is None and not self._follow:
                self._searcher = open_searcher(self.settings, without_encoder=True)
            searcher = self._searcher
        is_over = isinstance(searcher, QuickSearcher) and has_index(self.settings, self.root)
        return self.ask_project(self.root) if searcher is None or is_over else searcher

    def ask(self, repo: str, question: str = "") -> tuple[LiveSearcher, str]:
        """The searcher for a query, and the repository filter. If `repo` is a folder, it selects a project instead."""
        if repo.startswith(("/", "~", ".")) or (repo and self._follow and local_path(repo).is_dir()):
            return self.ask_project(allowed_folder(repo, self.settings), question), ""
        if self._follow:
            return self.ask_project(self.root, question), repo
        return self.searcher, repo

    def folders_in(self, repo: str) -> list[Path]:
        """The folders that `repo` names, if they are several, separated by commas."""
        names = split_commas(repo)
        are_folders = len(names) > 1 and all(local_path(name).is_dir() for name in names)
        return [allowed_folder(name, self.settings) for name in names] if are_folders else []

    def ask_folders(self, folders: Sequence[Path]) -> tuple[list[str], LiveSearcher]:
        """The indexes of the projects around these folders, refreshed first, and the searcher of the first."""
        searchers = [self.ask_project(folder) for folder in reversed(folders)][::-1]  # the first stays current
        return list(dict.fromkeys(one.info.name for one in searchers)), searchers[0]

    def search(self, names: Sequence[str], query: Query) -> Answer:
        """One answer of several indexes: of projects that are open, or served."""
        if len(names) == 1:
            return self._searcher_of(names[0]).search(query)
        return search_several(names, query, lambda name: nullcontext(self._searcher_of(name).search))

    def _searcher_of(self, index: str) -> LiveSearcher:
        return self._open.get(index) or self.indexes.open(index)

    def ask_indexes(self, index: str) -> tuple[list[str], LiveSearcher]:
        """The indexes that `index` names, and the first one opened, which becomes the default for the other tools."""
        names = self.indexes.choose(index)
        searcher = self.indexes.open(names[0])
        with self._lock:
            self._searcher = searcher
        return names, searcher

    def ask_project(self, folder: Path, question: str = "") -> LiveSearcher:
        """The project around a folder, refreshed first, or a quick look for a question, as on the command line."""
        quick = None
        if question and not has_index(self.settings, folder):
            quick = look(self.settings, folder, Query.of(question, {}, self.settings))
        if quick is None:
            return self._refresh_project(folder)[1]
        with self._lock:
            self._close_quick(quick.info.name)
            self._searcher = self._open[quick.info.name] = quick
            self.root = quick.root
        return quick

    def _close_quick(self, index: str) -> None:
        """Close the searcher of the last quick look at a project."""
        if isinstance(searcher := self._open.get(index), QuickSearcher):
            del self._open[index]
            searcher.close()

    def _refresh_project(self, folder: Path) -> tuple[Refreshed, LiveSearcher]:
        refresh = refresh_project(self.settings, folder)
        project = refresh.project
        with self._lock:
            self._close_quick(project.index)
            searcher = self._open.get(project.index)
            if searcher is None:
                settings = settings_of(self.settings, project)
                searcher = self._open[project.index] = open_searcher(settings, without_encoder=True)
            self._searcher, self.root = searcher, project.root
        if refresh.published:
            searcher.refresh()
        return refresh, searcher

    def index(self, folder: str) -> str:
        """Index a folder where the tools search: in the served index, or (`follow`) in that of the folder's project."""
        if self._follow:
            refresh = self._refresh_project(allowed_folder(folder, self.settings))[0]
            return visible(str(refresh))
        report = index_folder(folder, self.settings)
        if self._searcher is not None:
            self._searcher.refresh()
        return report

    def say_skips(self, answer: Answer, searcher: LiveSearcher) -> Answer:
        """The answer with what is left out of the project's folder where the question points."""
        if not self._follow or (answer.results and not answer.plan.route.location):
            return answer
        from treeline.service.skips import say_skips

        return say_skips(answer, self.settings, self.root, searcher.engine)

    def diff(self, revisions: str) -> str:
        """The diff of the project searched last: between revisions, or (none) of its files against HEAD."""
        from treeline.ingest.history import read_diff

        if not self._follow:
            raise InputError("a served index has no files to compare", "give the diff itself")
        return read_diff(self.root, revisions)

    def fetch(self, ids: list[str], searcher: LiveSearcher | None = None) -> dict[str, Function]:
        return {function.id: function for function in (searcher or self.searcher).engine.fetch(ids)}

    def show(
        self,
        items: list[Item],
        budget: int,
        opening: str = "",
        *,
        searcher: LiveSearcher,
        sources: Mapping[str, str] | None = None,
        **how: Any,
    ) -> Reply:
        """The list as text and data (`how`: see `render`).

        Results of a project need no handles: `path:lines` is enough. Other results get handles, which are kept with
        their index. If several indexes were searched, `sources` maps a result's id to its index.
        """
        with self._lock:
            handles = bool(sources) or searcher not in self._open.values()
            for item in items if handles else ():
                id_ = item.function.id
                source = self._searcher_of(sources[id_]) if sources and id_ in sources else searcher
                self._handles[handle(id_)] = (id_, source)
                self._handles.move_to_end(handle(item.function.id))
            while len(self._handles) > MOST_HANDLES:
                self._handles.popitem(last=False)
        page = render(items, budget, opening=opening, handles=handles, **how)
        return Reply(page.text, page.data)

    def find(self, reference: str) -> tuple[Function, LiveSearcher]:
        """The function of a handle, id or name, and its index. An ambiguous name raises an error with the choices."""
        reference = reference.strip().strip("[]")
        identity, source = self._handles.get(reference[:HANDLE_LENGTH], ("", None))
        if source and identity.startswith(reference) and (function := source.function(identity)):
            return function, source
        try:
            searcher = self.searcher
            return resolve(searcher, reference, otherwise="search_code finds it by what it does"), searcher
        except Ambiguous as several:
            raise InputError(self._choice(several, searcher)) from None
        except InputError as error:
            why = self._skip(local_path(reference.partition(":")[0], self.root)) if "." in reference else ""
            raise InputError(f"{error.message}; {why}" if why else error.message, error.hint) from None

    def _choice(self, several: Ambiguous, searcher: LiveSearcher) -> str:
        """The message for an ambiguous name: its functions, and how to narrow it down if there are more."""
        narrower = ", with a longer name (Class.name), or ask search_code for the name with a repo"
        heading = f"{several.message}; ask again with one of these{narrower if several.more else ''}:"
        items = [Item(one) for one in several.functions]
        return self.show(items, self.settings.mcp_tokens, heading, searcher=searcher, code=False).text

    def file(self, path: str) -> Path:
        """A file of the project searched last, or below an allowed folder."""
        file = local_path(path, self.root)
        allowed_folder(str(file.parent), self.settings)
        if not file.is_file():
            raise InputError(f"{path} is not a file of {self.root}", "give the path as results have it")
        return file

    def read_lines(self, path: str, first: int, last: int, budget: int) -> str:
        """Lines of a file with their numbers, within `budget` tokens; `last` 0: to the end. A file with a private key
        or a token, in its beginning or around these lines, is refused."""
        from treeline.ingest.ignore import is_secret

        if 0 < last < first:
            raise InputError(f"last must be {first} or more, not {last}")
        file = self.file(path)
        with file.open("rb") as data:
            skip_lines(data, first - 1)
            start = data.tell()
            for begin in () if self.settings.index_secrets else {0, max(0, start - SECRET_BYTES // 2)}:
                data.seek(begin)
                if is_secret(file.as_posix(), data.read(SECRET_BYTES)):
                    raise InputError(f"{path} holds a secret", SECRETS_HINT)
            data.seek(start)
            note = f"\n… {why}" if first == 1 and (why := self._skip(file)) else ""
            lines = numbered_lines(data, first, last, budget - tokens(note))
            return f"{lines}{note}" if lines else f"{visible(path)} has no line {first}."

    def _skip(self, file: Path) -> str:
        """Why a file is left out of the project searched last, in a sentence; '' if it is not."""
        if not self._follow:
            return ""
        from treeline.service.skips import file_skip

        return visible(file_skip(self.settings, self.root, file))
