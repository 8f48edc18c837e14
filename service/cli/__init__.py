"""The `treeline` command: each subcommand is a file of its own, imported only when it is called."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import click

from treeline.corpus.errors import TreelineError, missing_extra
from treeline.service.cli.lazy import LazyGroup

# The evaluation's commands are named here as text, so that the service does not import the room above it.
COMMANDS = {
    "index": ("treeline.service.cli.index", "Load functions into an index, or bring it up to date."),
    "search": ("treeline.service.cli.search", "Find functions by what they do."),
    "show": ("treeline.service.cli.show", "Show one function: where it is, its code, who calls it."),
    "similar": ("treeline.service.cli.similar", "Show the functions nearest in meaning to one."),
    "serve": ("treeline.service.cli.serve", "Serve the API and the pages."),
    "status": ("treeline.service.cli.status", "Show the indexes; manage their generations."),
    "tree": ("treeline.service.cli.tree", "Show the repository tree and how well it is embedded."),
    "doctor": ("treeline.service.cli.doctor", "Say what is there, what is missing, and how to get it."),
    "mcp": ("treeline.service.cli.mcp", "Serve search to a coding agent."),
    "keys": ("treeline.service.cli.keys", "Make, list and revoke API keys."),
    "first-index": ("treeline.service.cli.first_index", "Make an index to serve, unless there is one."),
    "wait": ("treeline.service.cli.wait", "Wait until the engine answers."),
    "eval": ("treeline.eval.command", "Measure retrieval quality."),
    "bench": ("treeline.eval.bench.speed", "Measure speed, memory and growth."),
    "export-onnx": (
        "treeline.service.cli.export_onnx",
        "Write a transformer encoder in int8, for use without torch.",
    ),
    "train-encoder": ("treeline.service.cli.train_encoder", "Train the static encoder."),
    "write-questions": ("treeline.service.cli.write_questions", "Have a language model write questions for functions."),
    "train-teacher": ("treeline.service.cli.train_teacher", "Teach a transformer which functions answer questions."),
}
INTERRUPTED = 130  # what a shell reports for a process that Ctrl-C ended


@click.group(cls=LazyGroup, modules=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="treeline-search")
def cli() -> None:
    """Treeline: find functions by what they do."""


def main() -> None:
    """Run the command line; an error is one readable line, bad input ends with 2, a failure with 1."""
    sys.exit(_run())


def _run() -> int:
    if sys.stdout is None:  # it was closed (`>&-`)
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process lives
    output = os.dup(sys.stdout.fileno())  # rich puts another in its place when the pipe is closed
    try:
        result = cli(prog_name="treeline", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.ClickException as error:
        return _say(error.format_message().rstrip("."), _help_of(error), error.exit_code)
    except TreelineError as error:
        return _say(error.message, error.hint, error.exit_code)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        return _say(missing.message, missing.hint, missing.exit_code)
    except (KeyboardInterrupt, click.Abort) as error:
        return _say("interrupted", str(error.__cause__ or ""), INTERRUPTED)
    except (BrokenPipeError, SystemExit) as error:  # click and rich make the second of the first
        if _nobody_reads(output):
            return 0
        return _say(str(error.__context__ or error), "", 1)
    except OSError as error:  # a file that was named cannot be read or written, the disk is full
        return _say(f"{error.filename}: {error.strerror}" if error.filename else str(error), "", 1)


def _nobody_reads(output: int) -> bool:
    """Whether the reader has had enough (`| head`), which is no failure of ours: ripgrep ends with 0 too.

    What Python still wants to flush at exit goes nowhere then.
    """
    ends = select.poll()
    ends.register(output, 0)  # nothing asked for: that the other end is closed is always told
    if not ends.poll(0):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def _say(message: str, hint: str, code: int) -> int:
    line = " ".join(f"{message} ({hint})".split()) if hint else " ".join(message.split())
    click.echo(f"treeline: {line}", err=True)
    return code


def _help_of(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"see {context.command_path} --help" if context else ""
