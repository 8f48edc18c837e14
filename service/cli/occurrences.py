"""`treeline --all`, `-l`, `-c`, `-o`: every occurrence of a text or an expression in the files of an index."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import fields
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import click

from treeline.corpus.counting import counted
from treeline.corpus.errors import InputError, TreelineError
from treeline.corpus.frozen import frozen
from treeline.engine.protocol import Filters
from treeline.search.occurrences import Line, Needle, lines_at
from treeline.search.query import PART, WORD, Parts, combine, parse
from treeline.service.cli.lines import grep_line, is_for_a_person, paint, painted, say
from treeline.service.cli.options import (
    Command,
    Place,
    Target,
    echo,
    echo_json,
    folder_in,
    is_named,
    settings_for,
    target,
)
from treeline.service.present.text import visible_name

if TYPE_CHECKING:
    from pathlib import Path

    from treeline.search.settings import Settings

SIDE_BY_SIDE = 2_000  # files; from so many on, each processor searches its part of them
MOST_PROCESSES = 8
PLAIN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@frozen
class Listing:
    """The options of a list of all occurrences, as ripgrep names them."""

    all: bool = False
    files_with_matches: bool = False
    count: bool = False
    only_matching: bool = False
    ignore_case: bool = False
    after_context: int = 0
    before_context: int = 0
    context: int = 0

    @classmethod
    def take(cls, options: dict[str, Any]) -> Self:
        """The listing of a command's options, which are removed from them."""
        return cls(**{field.name: options.pop(field.name) for field in fields(cls)})

    def __bool__(self) -> bool:
        """Whether a list is asked for."""
        return self != Listing()

    @property
    def before(self) -> int:
        return self.before_context or self.context

    @property
    def after(self) -> int:
        return self.after_context or self.context


OPTIONS = (
    ("--all", "Every occurrence of exact text or a /regex/, in the order of paths."),
    ("-l/--files-with-matches", "Only the paths of files that have it."),
    ("-c/--count", "How many lines of each file have it."),
    ("-o/--only-matching", "Only the parts of lines that match."),
    ("-i/--ignore-case", "Case never counts; else it does if the text has an upper-case letter."),
)
NUMBERS = (
    ("-A/--after-context", "Lines shown after each that matches."),
    ("-B/--before-context", "Lines shown before each that matches."),
    ("-C/--context", "Lines shown before and after each that matches."),
)


def occurrence_options(command: Command) -> Command:
    for names, about in reversed(NUMBERS):
        command = click.option(*names.split("/"), default=0, type=click.IntRange(0), metavar="N", help=about)(command)
    for names, about in reversed(OPTIONS):
        command = click.option(*names.split("/"), is_flag=True, help=about)(command)
    return command


class FileToSearch(NamedTuple):
    repo: str
    path: str  # as the index has it
    on_disk: bytes = b""  # in a project
    size: int = 0
    index_name: str = ""  # of the one that keeps its text

    @property
    def shown_path(self) -> str:
        """The path from where one stands, or in its repository."""
        from treeline.ingest.source import readable

        return readable(os.path.relpath(os.fsdecode(self.on_disk))) if self.on_disk else f"{self.repo}/{self.path}"


class FileMatches(NamedTuple):
    """The lines of a file that match, with those around them."""

    file: FileToSearch
    lines: tuple[Line, ...]
    problem: str = ""  # why it was not searched

    @property
    def occurrences(self) -> int:
        return sum(len(line.spans) for line in self.lines)


def is_exact(text: str) -> bool:
    """Whether a question is nothing but exact text in quotes, a regular expression and filters."""
    parts = parse(text)
    return bool(parts.phrases or parts.regex) and not WORD.search(PART.sub("", parts.words))


def list_occurrences(text: str, filters: Filters, targets: Sequence[Target], listing: Listing, *, as_json: bool) -> int:
    """Print every occurrence; returns the exit code. Text without quotes is taken as it is."""
    parts = parse(text)
    filters = combine(filters, parts.filters)
    needle = needle_of(parts, ignore_case=listing.ignore_case)
    if parts.excluded_words or filters.kind or filters.partition:
        refusal = "kind:, partition: and -word choose units, and a list of all occurrences has lines of files"
        raise InputError(refusal, "leave them out")
    files = [file for one in targets for file in files_in(one, filters, alone=len(targets) == 1)]
    every = search_files(files, needle, targets[0].settings, listing)
    if not all(one.has_index for one in targets):
        every = [one for one in every if not _is_left_out(one.file, targets[0].settings)]
    problems = [one for one in every if one.problem]
    matches = [one for one in every if one.lines]
    for one in problems:
        echo(f"treeline: {one.file.path}: {one.problem}", err=True)
    if as_json:
        echo_json({"query": text, "files": [_json(one, alone=len(targets) == 1) for one in matches]})
    elif matches:
        show(matches, listing)
    else:
        case = "" if listing.ignore_case or parts.text == parts.text.lower() else " in this case (-i ignores it)"
        echo(f"treeline: nothing here contains {parts.text}{case}", err=True)
    return 0 if matches else 1


def needle_of(parts: Parts, *, ignore_case: bool) -> Needle:
    if parts.regex or parts.phrases:
        if WORD.search(PART.sub("", parts.words)):
            raise InputError(
                "a list of all occurrences is of exact text", "put all of it into quotes, or leave them out"
            )
        return Needle.of_text(parts.phrases, parts.regex, ignore_case=ignore_case)
    words = parts.words.removeprefix('"').removesuffix('"') if parts.words[:1] == parts.words[-1:] else parts.words
    if not words.strip():
        raise InputError("the question is empty", "name the text to list")
    return Needle.of_text([words], ignore_case=ignore_case)


def files_in(where: Target, filters: Filters, *, alone: bool) -> list[FileToSearch]:
    """The files of a target; one of several that cannot be read is named, and has none."""
    filters = where.narrow(filters)
    if filters.path and where.root is not None:
        from treeline.engine.patterns import as_in_shell

        root = where.root
        filters = as_in_shell(filters, "" if where.path else folder_in(root), lambda path: (root / path).exists())
    try:
        files = list(files_of(where, filters))
    except TreelineError as error:
        if alone:
            raise
        echo(f"treeline: without index {where.settings.index}: {error.message}", err=True)
        return []
    if not files and alone and where.root is not None:
        from treeline.service.skips import sentence, skips_in

        if skips := skips_in(where.settings, where.root, filters):
            echo(f"treeline: {sentence(skips)}", err=True)
    return files


def target_to_list(engine: str | None, name: str, place: Place, filters: Filters) -> Target:
    """The target of a list of occurrences. A project without an index needs none, but to tell languages apart."""
    from treeline.ingest.project import find_project
    from treeline.service.projects import has_index, settings_of

    settings = settings_for(engine, name)
    if is_named(settings, name) or filters.language or filters.repo or has_index(settings, place.folder):
        return target(engine, name, place)
    project = find_project(place.folder, settings.home_path)
    return Target(settings_of(settings, project), project.root, place.path, has_index=False)


def _is_left_out(file: FileToSearch, settings: Settings) -> bool:
    """Whether the content of a file that no index has read keeps it out of one: a secret, or no text."""
    from treeline.ingest.ignore import content_reason
    from treeline.service.projects import reading_of

    try:
        return bool(content_reason(file.path, _read(file), reading_of(settings)))
    except OSError:  # gone since it was searched
        return True


def files_of(where: Target, filters: Filters) -> Iterator[FileToSearch]:
    """The files of a project, or those whose texts an index keeps, that pass the filters."""
    from treeline.engine.patterns import path_test

    passes = path_test(filters)
    if where.root is not None and not (filters.language or filters.repo):
        top = os.fsencode(where.root)
        for name, size in _names(where, where.root):
            path = name.decode("utf-8", "backslashreplace")  # as `readable`
            if passes(path):
                yield FileToSearch("", path, top + b"/" + name, size)
        return
    from treeline.engine.texts import FileTexts
    from treeline.ingest.source import on_disk
    from treeline.search.plan import as_indexed
    from treeline.search.settings import open_store

    with closing(open_store(where.settings).open(where.settings.index)) as engine:
        filters = as_indexed(filters, engine.facets())
        texts = FileTexts(engine)
        for repo, _, _ in texts.repositories():
            for entry in texts.files(repo) if filters.passes(repo=repo) else ():
                if passes(entry.path) and filters.passes(language=entry.language):
                    local = os.fsencode(on_disk(where.root, entry.path)) if where.root else b""
                    yield FileToSearch(repo, entry.path, local, entry.size, "" if local else where.settings.index)


def _names(where: Target, root: Path) -> Iterable[tuple[bytes, int]]:
    """The paths and sizes of a project's files: those that its index has, else those that it would read."""
    from treeline.ingest.project import find_project, indexed_files, listed
    from treeline.service.projects import reading_of

    home = where.settings.home_path
    if where.has_index:
        return indexed_files(where.settings.index, home)
    files = listed(find_project(root, home), reading_of(where.settings)).listing.files
    return [(os.fsencode(path), one.size) for path, one in files.items()]


def search_files(
    files: Sequence[FileToSearch], needle: Needle, settings: Settings, listing: Listing
) -> Sequence[FileMatches]:
    """The matches of all files in their order; the second half, third … is searched by processes of their own."""
    count = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, MOST_PROCESSES)
    if len(files) < SIDE_BY_SIDE or count == 1:
        return list(_search(files, needle, settings, listing))
    step = -(-len(files) // count)
    parts = [files[at : at + step] for at in range(0, len(files), step)]
    others = [_Other(part, needle, settings, listing) for part in parts[1:]]
    every = list(_search(parts[0], needle, settings, listing))
    return [*every, *(one for other in others for one in other.matches())]


class _Other:
    """A part of the files, searched by a fork of this process: Python runs one thread at a time."""

    def __init__(self, files: Sequence[FileToSearch], needle: Needle, settings: Settings, listing: Listing) -> None:
        import pickle
        from tempfile import TemporaryFile

        self._answer = TemporaryFile()  # noqa: SIM115 - closed when it is read
        self._process = os.fork()
        if self._process:
            return
        code = 1
        with suppress(BaseException):
            pickle.dump(list(_search(files, needle, settings, listing)), self._answer)
            self._answer.flush()
            code = 0
        os._exit(code)

    def matches(self) -> list[FileMatches]:
        import pickle

        _, status = os.waitpid(self._process, 0)
        if status:
            raise InputError("a process that searched a part of the files has ended", "ask again")
        with self._answer as answer:
            answer.seek(0)
            every: list[FileMatches] = pickle.load(answer)  # noqa: S301 - our own process wrote it
            return every


def _search(
    files: Sequence[FileToSearch], needle: Needle, settings: Settings, listing: Listing
) -> Iterator[FileMatches]:
    for file, content in _contents(files, settings):
        if not needle.may_be_in(content):
            continue
        text = content.decode("utf-8", "replace").removeprefix("\ufeff")
        try:
            places = needle.occurrences(text)
        except TimeoutError:
            yield FileMatches(file, (), "the expression takes too long here")
            continue
        if places:
            yield FileMatches(file, tuple(lines_at(text, places, before=listing.before, after=listing.after)))


def _contents(files: Sequence[FileToSearch], settings: Settings) -> Iterator[tuple[FileToSearch, bytes]]:
    """Each file with its bytes; one that is gone since it was listed is left out."""
    for index, group in groupby(files, key=attrgetter("index_name")):
        if not index:
            for file in group:
                with suppress(OSError):
                    yield file, _read(file)
            continue
        from treeline.engine.texts import FileTexts
        from treeline.search.settings import open_store

        with closing(open_store(settings).open(index)) as engine:
            texts = FileTexts(engine)
            for file in group:
                if (content := texts.read(file.repo, file.path)) is not None:
                    yield file, content


def _read(file: FileToSearch) -> bytes:
    # Neither a link nor a pipe that nobody writes to may hold us up.
    handle = os.open(file.on_disk, PLAIN_FILE)
    try:
        content = os.read(handle, file.size + 1)
        while len(content) > file.size and (more := os.read(handle, 1 << 20)):  # it has grown since
            content += more
        return content
    finally:
        os.close(handle)


def show(matches: Sequence[FileMatches], listing: Listing) -> None:
    """Print the files: with a heading for a person, as `path:line:column: text` for a program."""
    headings = is_for_a_person() and not listing.files_with_matches and not listing.count
    write = sys.stdout.write
    for number, one in enumerate(matches):
        path = one.file.shown_path
        if headings:
            say("\n" * bool(number) + paint(visible_name(path), fg="magenta"))
        rows = _rows(path, one, listing, headings=headings)
        write("".join(f"{row}\n" for row in rows))
    if headings:
        total = sum(one.occurrences for one in matches)
        say(f"\n{counted(total, 'occurrence')} in {counted(len(matches), 'file')}", dim=True)


def _rows(path: str, one: FileMatches, listing: Listing, *, headings: bool) -> Iterator[str]:
    if listing.files_with_matches:
        yield visible_name(path)
        return
    matching = [line for line in one.lines if line.spans]
    if listing.count:
        yield f"{visible_name(path)}:{len(matching)}"
        return
    if listing.only_matching:
        for line in matching:
            for begin, end in line.spans:
                part = Line(line.number, line.text[begin:end], ((0, end - begin),))
                yield f"{line.number}:{painted(part)}" if headings else grep_line(path, part, begin + 1)
        return
    last = one.lines[0].number
    for line in one.lines:
        if line.number > last + 1 and (listing.before or listing.after):
            yield "--"
        last = line.number
        if headings:
            yield f"{paint(str(line.number), fg='green')}{':' if line.spans else '-'}{painted(line)}"
        else:
            yield grep_line(path, line)


def _json(one: FileMatches, *, alone: bool) -> dict[str, object]:
    lines = [{"line": line.number, "column": line.column, "text": line.text} for line in one.lines if line.spans]
    path = one.file.path if alone else one.file.shown_path
    return {"repo": one.file.repo, "path": path, "occurrences": one.occurrences, "lines": lines}
