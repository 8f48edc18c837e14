"""The `treeline` command: a table of subcommands, each imported only when it is called."""

from __future__ import annotations

import atexit
import gc
import os
import select
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

import click

from treeline.corpus.errors import NO_THREADS, InputError, TreelineError, missing_extra
from treeline.service.cli.options import LazyGroup, echo, echo_json

# Before numpy is imported. BLAS's threads wait for each other by spinning: on a busy machine the clusters of 600
# vectors took 6.6 s of processor time with two of them, .5 with one, and those of 40,000 the same 6.6, and .8.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Each command's location and line of help. `eval` is named as text, because the service may not import that room.
COMMANDS = {
    "search": ("treeline.service.cli.search:search", "Find code by what it does."),
    "show": ("treeline.service.cli.search:show", "Show one definition: where it is, its code, who calls it."),
    "similar": ("treeline.service.cli.search:similar", "Show what is nearest in meaning to a definition."),
    "log": ("treeline.service.cli.history:log", "Find commits by what they are about."),
    "impact": ("treeline.service.cli.history:impact", "Show what a change touches, and what else it has to."),
    "context": ("treeline.service.cli.history:context", "Gather what a task needs into a budget of tokens."),
    "outline": ("treeline.service.cli.project:outline", "Show what a file defines."),
    "watch": ("treeline.service.cli.project:watch", "Keep the index of this project fresh."),
    "completion": ("treeline.service.cli.project:completion", "Print or install completion for a shell."),
    "index": ("treeline.service.cli.index:index", "Load code into an index, or update it."),
    "download": ("treeline.service.cli.index:download", "Download CodeSearchNet."),
    "status": ("treeline.service.cli.status:status", "Show the indexes; manage their generations."),
    "serve": ("treeline.service.cli.serve:serve", "Serve the API and the pages."),
    "mcp": ("treeline.service.cli.serve:mcp", "Serve search to a coding agent."),
    "lsp": ("treeline.service.cli.serve:lsp", "Serve search to an editor."),
    "install": ("treeline.service.cli.install:install", "Set up a coding agent to use Treeline, or undo it."),
    "keys": ("treeline.service.cli.keys:keys", "Make, list and revoke API keys."),
    "doctor": ("treeline.service.cli.doctor:doctor", "Check the installation and say what is missing."),
    "first-index": ("treeline.service.cli.index:first_index", "Make an index to serve if there is none."),
    "wait": ("treeline.service.cli.index:wait", "Wait until the engine answers."),
    "eval": ("treeline.eval.command:command", "Measure retrieval quality."),
}
SECTIONS = {
    "Search": ("search", "show", "similar", "outline", "log", "impact", "context"),
    "Indexes": ("index", "watch", "download", "status", "doctor"),
    "Serve": ("serve", "mcp", "lsp", "keys"),
    "Set up": ("install", "completion"),
    "For start scripts": ("first-index", "wait"),
    "Measure": ("eval",),
}
CTRL_C_EXIT_CODE = 130
# Objects made until the garbage collector looks for cycles. Importing makes hundreds of thousands that all stay: at
# Python's 700 the collector took a tenth of a question's processor time.
COLLECT_AFTER = 50_000
MOST_FILES = 10_240  # that macOS grants; two hundred indexes


@click.group(
    cls=LazyGroup,
    modules=COMMANDS,
    sections=SECTIONS,
    otherwise="search",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="treeline-search")
def cli() -> None:
    """Treeline finds code by what it does. Ask in any folder:

    \b
        treeline how are cookies signed
    """


def main(command: click.Command | None = None) -> None:
    """Run `treeline` or another command; an error is one readable line, bad input exits with 2, a failure with 1."""
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
    raise_file_limit()
    os.umask(0o077)  # indexes hold the text of private repositories
    leave = _Leave()
    atexit.register(leave)
    leave.code = _run(command)
    sys.exit(leave.code)


def raise_file_limit() -> None:
    """Let the process have as many files open as the system allows: an index needs three dozen, and the usual limit is
    1,024, or 256 on macOS."""
    with suppress(ImportError, OSError, ValueError):  # Windows has no limits; macOS may allow less than it says
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < MOST_FILES:
            most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class _Leave:
    """Ends the process without taking down modules and objects, which takes a tenth of a question's processor time.

    Registered before anything else, so it runs after every other exit handler; threads have ended by then.
    """

    code = 1  # of an error that nobody expected

    def __call__(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with suppress(OSError, ValueError):  # closed, or nobody reads
                    stream.flush()
        os._exit(self.code)


def _run(command: click.Command | None) -> int:
    if sys.stdout is None:  # closed by `>&-`
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal in Latin-1 lacks most of what code has
            stream.reconfigure(errors="replace")
    output = os.dup(sys.stdout.fileno())  # rich replaces stdout when the pipe is closed
    try:
        result = command(standalone_mode=False) if command else cli(prog_name="treeline", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.ClickException as error:
        return _say(error.format_message().rstrip("."), _help_of(error), error.exit_code, InputError.code)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        return _say(missing.message, missing.hint, missing.exit_code, missing.code)
    except TreelineError as error:
        return _say(error.message, error.hint, error.exit_code, error.code)
    except (KeyboardInterrupt, click.Abort) as error:
        return _say("interrupted", str(error.__cause__ or ""), CTRL_C_EXIT_CODE)
    except (BrokenPipeError, SystemExit) as error:  # click and rich turn the first into the second
        if _nobody_reads(output):
            return 0
        return _say(str(error.__context__ or error), "", 1)
    except MemoryError:
        return _say("there is not enough memory", "what was there before is intact", 1)
    except RuntimeError as error:
        if "new thread" not in str(error):
            raise
        return _say(*NO_THREADS, 1)
    except OSError as error:  # an unreadable file, a full disk
        return _say(f"{error.filename}: {error.strerror}" if error.filename else str(error), "", 1)


def _nobody_reads(output: int) -> bool:
    """Whether the reader closed the pipe (`| head`), which is no failure: ripgrep exits with 0 too.

    What Python flushes at exit is then discarded.
    """
    ends = select.poll()
    ends.register(output, 0)  # poll always reports a closed end
    if not ends.poll(0):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def _say(message: str, hint: str, exit_code: int, code: str = TreelineError.code) -> int:
    """Print an error; on standard output in the shape of the API's where JSON is asked for."""
    if "--json" in sys.argv[1:] and sys.argv[1:2] != ["eval"]:  # there it names a file
        with suppress(OSError):  # nobody reads, or the disk is full
            echo_json({"error": {"code": code, "message": message, "hint": hint}})
        return exit_code
    line = " ".join(f"{message} ({hint})".split()) if hint else " ".join(message.split())
    echo(f"treeline: {line}", err=True)
    return exit_code


def _help_of(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"see {context.command_path} --help" if context else ""
