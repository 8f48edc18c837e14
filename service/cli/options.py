"""Shared by commands: lazy groups, options that choose an index or a definition, output files."""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from treeline.corpus.errors import InputError, TreelineError

if TYPE_CHECKING:
    from treeline.engine.protocol import Filters
    from treeline.ingest.source import Progress
    from treeline.search.settings import Settings


class LazyGroup(click.Group):
    """A group that imports a command only when it is called.

    `modules` maps a command to `module:attribute` and its line of help, `sections` a heading of `--help` to commands.
    Words that are no command go to the command `otherwise`, if there is one.
    """

    def __init__(
        self,
        *args: Any,
        modules: Mapping[str, tuple[str, str]],
        sections: Mapping[str, Sequence[str]] | None = None,
        otherwise: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._modules = modules
        self._otherwise = otherwise
        self._sections = sections or {"Commands": tuple(modules)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return None
        module, _, attribute = self._modules[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute or "command")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in self._sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self._modules[name][1]) for name in names])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass an option that the group lacks to the command `otherwise`: `treeline -k 3 QUESTION`. So goes a text that
        is piped in: `treeline < issue.md`."""
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        if self._otherwise and not args and is_piped():
            args = [self._otherwise]
        if self._otherwise and args and args[0].startswith("-") and args[0] not in own:
            args = [self._otherwise, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._modules and not args[0].startswith("-"):
            search = [self._otherwise, *args]
            if self._otherwise and (len(args) > 1 or " " in args[0]):
                return super().resolve_command(ctx, search)
            from difflib import get_close_matches

            near = get_close_matches(args[0], self._modules, n=1, cutoff=NEAR_COMMAND if self._otherwise else 0.6)
            if self._otherwise and not near:
                return super().resolve_command(ctx, search)
            hint = f"did you mean {near[0]!r}?" if near else f"commands: {', '.join(self._modules)}"
            if self._otherwise:
                hint += f" To search for the word: {ctx.command_path} {self._otherwise} {args[0]}"
            raise InputError(f"there is no command {args[0]!r}", hint)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of commands, without importing them."""
        names = (name for name in self._modules if name.startswith(incomplete))
        items = [CompletionItem(name, help=self._modules[name][1]) for name in names]
        if ":" in incomplete and self._otherwise and (search := self.get_command(ctx, self._otherwise)):
            return search.params[0].shell_complete(ctx, incomplete)
        return items or super(click.Group, self).shell_complete(ctx, incomplete)


def is_piped() -> bool:
    """Whether standard input is a file or a pipe."""
    with suppress(OSError, ValueError, AttributeError):  # closed, or replaced by something without a descriptor
        mode = os.fstat(sys.stdin.fileno()).st_mode
        return stat.S_ISREG(mode) or stat.S_ISFIFO(mode)
    return False


def echo_json(value: object) -> None:
    """Print a value as indented JSON."""
    import orjson

    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def echo(text: str, *, err: bool = False) -> None:
    """Print a line, with hidden and control characters written out: names in it may come from anybody."""
    from treeline.service.present.text import visible

    click.echo(visible(text), err=err)


Command = Callable[..., Any]
NEAR_COMMAND = 0.75  # similarity from which a single unknown word is a mistyped command, not a query


class StrictCommand(click.Command):
    """A command that refuses an option given twice, as the API refuses a repeated parameter."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        counts = Counter(one for one in order if isinstance(one, click.Option) and not (one.is_flag or one.multiple))
        if repeats := sorted(max(option.opts, key=len) for option, count in counts.items() if count > 1):
            raise InputError(f"{', '.join(repeats)} given more than once", "give each option once")
        return super().parse_args(ctx, args)


def index_options(command: Command) -> Command:
    """`--engine` and `--name`: which index to use."""
    about = "Index; default: the setting `index`."
    command = click.option("--name", default="", metavar="NAME", callback=not_empty, help=about)(command)
    engines = click.Choice(["embedded", "elasticsearch"])
    return click.option("--engine", type=engines, help="The index's engine; default: the setting `engine`.")(command)


# Switches without an option: the command line reads no votes, and --full shows code.
WITHOUT_OPTION = frozenset({"feedback", "code"})


def search_options(command: Command) -> Command:
    """The switches of a search as options; the settings give the defaults."""
    from treeline.search.query import SWITCHES

    command = filter_options(command, *(switch.name for switch in SWITCHES if switch.scope == "filter"))
    for switch in reversed(SWITCHES):
        if switch.name in WITHOUT_OPTION or switch.scope == "filter":
            continue
        kind: Any = click.Choice(switch.choices) if switch.choices else switch.type
        name, about = switch.option, switch.help.replace("`", "")
        if isinstance(switch.default, bool):
            name = f"{name}/--no-{name.removeprefix('--')}" if switch.setting else name
            command = click.option(name, switch.name, is_flag=True, default=None, help=about)(command)
            continue
        if isinstance(switch.default, int):
            kind = click.IntRange(switch.least)
        elif isinstance(switch.default, float):
            kind = click.FloatRange(switch.least, switch.most)
        command = click.option(name, switch.name, type=kind, metavar=switch.metavar or None, help=about)(command)
    return command


def filter_options(command: Command, *names: str) -> Command:
    """The filters of these names as options, each of which may be given several times."""
    from treeline.search.query import BY_NAME

    for switch in map(BY_NAME.__getitem__, reversed(names)):
        about, values = switch.help.replace("`", ""), switch.metavar or switch.name.upper()
        command = click.option(
            switch.option,
            multiple=True,
            metavar=values,
            callback=with_commas,
            shell_complete=complete_filter,
            help=about,
        )(command)
    return command


def complete_filter(_context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The values that begin so of an option's filter, or of one in the question: `-lang:go,py`."""
    from treeline.search.query import KEYS

    key = start.partition(":")[0]
    in_question = isinstance(parameter, click.Argument)
    field = KEYS.get(key.removeprefix("-").lower()) if in_question else parameter.name
    head = f"{key}:" if in_question else ""
    before, comma, last = start.removeprefix(head).rpartition(",")
    if field in ("path", "file"):
        folder = last.rpartition("/")[0]
        values = [f"{path}/" if path.is_dir() else str(path) for path in sorted(Path(folder or ".").glob("[!.]*"))]
    else:
        values = []
        with suppress(TreelineError):  # there is no index yet
            values = facet_values(field or "")
    last = last.removeprefix("-")
    return [CompletionItem(head + before + comma + value) for value in values if value.lower().startswith(last.lower())]


def facet_values(field: str) -> list[str]:
    """The values of a filter in this folder's index as it is, the most frequent first."""
    from treeline.corpus.roles import NAMES
    from treeline.ingest.project import find_project
    from treeline.search.settings import open_store

    if field == "role":
        return list(NAMES)
    settings = settings_for(None, "")
    name = settings.index if is_named(settings, "") else find_project(Path.cwd(), settings.home_path).index
    with closing(open_store(settings).open(name)) as engine:
        return [value for value in engine.facets().get(field, {}) if value]


def tests_option(command: Command) -> Command:
    """`--tests` as `--role test`, `--no-tests` as `--role -test`."""

    @wraps(command)
    def with_role(*args: Any, tests: bool | None, role: str, **options: Any) -> Any:
        own = {True: "test", False: "-test", None: ""}[tests]
        return command(*args, role=",".join(filter(None, (role, own))), **options)

    about = "Only tests, or none: as --role test, --role -test."
    return click.option("--tests/--no-tests", default=None, help=about)(with_role)


def with_commas(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> str:
    """The values of an option as those of one filter."""
    from treeline.ingest.source import readable

    return readable(",".join(values))


def not_empty(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Refuse an empty name: a script's unset variable does not mean the default index."""
    if not value.strip() and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
        raise click.BadParameter("it is empty")
    return value


def settings_for(engine: str | None, name: str) -> Settings:
    """The environment's settings with the command line's options."""
    from treeline.engine.names import check_name
    from treeline.search.settings import from_environment

    settings = from_environment()
    return replace(settings, engine=engine or settings.engine, index=check_name(name) if name else settings.index)


def is_named(settings: Settings, name: str) -> bool:
    """Whether the option or the environment names the index; otherwise a command is about this folder's project."""
    from treeline.search.settings import PREFIX

    return bool(name) or settings.engine != "embedded" or f"{PREFIX}INDEX" in os.environ


class Place(NamedTuple):
    """A folder of a project, by default the one we are in, and the value of `path:` for the parts of it to search; ''
    for all of it."""

    folder: Path = Path()
    path: str = ""


HERE = Place()


class Target(NamedTuple):
    """The settings of the index to search, and the folder of its project, if it is one; `path` as in `Place`."""

    settings: Settings
    root: Path | None = None
    path: str = ""
    has_index: bool = True

    def narrow(self, filters: Filters) -> Filters:
        """The filters, with the parts of the project."""
        if self.path and filters.path:
            raise InputError("--in with a folder of a project and path: cannot be combined", "leave one of them out")
        return replace(filters, path=self.path) if self.path else filters


def target(engine: str | None, name: str, place: Place = HERE) -> Target:
    """The named index, else the project of a place, refreshed first."""
    settings = settings_for(engine, name)
    if is_named(settings, name):
        return Target(settings)
    from treeline.service.projects import refresh_project, settings_of

    with lazy_progress() as progress:
        refresh = refresh_project(settings, place.folder, progress)
    if refresh.published or refresh.is_busy or refresh.truncated or refresh.problem:
        echo(f"treeline: {refresh}", err=True)
    return Target(settings_of(settings, refresh.project), refresh.project.root, place.path)


def places_of(settings: Settings, folders: Sequence[Path]) -> list[Place]:
    """The projects of these folders, each with the parts that are meant."""
    from treeline.engine.patterns import exactly
    from treeline.ingest.project import find_project
    from treeline.ingest.source import readable

    parts: dict[Path, list[str]] = {}
    for folder in folders:
        root = find_project(folder, settings.home_path).root
        inner = folder.resolve().relative_to(root).as_posix()
        parts.setdefault(root, []).append("" if inner == "." else exactly(f"{readable(inner)}/"))
    return [Place(root, ",".join(inner) if all(inner) else "") for root, inner in parts.items()]


def folder_in(root: Path | None) -> str:
    """The folder of a project in which one stands; '' for its top, and outside."""
    from treeline.ingest.source import readable

    here = Path.cwd().resolve()
    return readable(str(here.relative_to(root))) if root and here != root and here.is_relative_to(root) else ""


def target_settings(engine: str | None, name: str) -> Settings:
    return target(engine, name).settings


@contextmanager
def lazy_progress() -> Iterator[Progress]:
    """A progress bar for terminals, imported at the first report."""
    from treeline.ingest.source import no_progress

    with ExitStack() as stack:
        bars: list[Progress] = []

        def report(what: str, count: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(progress_bar()))
            bars[0](what, count, total)

        yield report if sys.stderr.isatty() else no_progress


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on stderr; none if that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, object] = {}

        def report(what: str, count: int, total: int) -> None:
            if what not in tasks:
                for old in list(bar.task_ids):
                    bar.remove_task(old)
                tasks.clear()
                tasks[what] = bar.add_task(what, total=total or None)
            bar.update(tasks[what], completed=count, total=total or None)  # type: ignore[arg-type]

        yield report


def how_to_index(settings: Settings) -> str:
    """The command that makes the index of these settings, with the options that the environment lacks."""
    from treeline.search.settings import from_environment

    usual = from_environment()
    engine = f" --engine {settings.engine}" if settings.engine != usual.engine else ""
    name = f" --name {settings.index}" if settings.index != usual.index else ""
    return f"treeline index SOURCE{engine}{name}"


class OutputPath(click.Path):
    """A writable file in an existing folder, or (`folder=True`) a folder to create with its parents."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__(file_okay=not folder, dir_okay=folder, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.exists():  # click has checked that it is writable; the folder of `/dev/stdout` is not
            return path
        parents = path.absolute().parents
        where = next(folder for folder in parents if folder.exists()) if self.dir_okay else parents[0]
        if not where.is_dir():
            self.fail(f"cannot write {path}: {where} is no folder", param, ctx)
        try:
            # By trying: permissions say nothing to root, who still cannot write to /proc or a read-only disk.
            from tempfile import TemporaryFile

            with TemporaryFile(dir=where):
                pass
        except OSError as error:
            self.fail(f"cannot write {path}: in {where}: {error.strerror}", param, ctx)
        return path
