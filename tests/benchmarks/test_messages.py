"""Error messages as an evaluation: unique ones are taken, and the functions that raise them are found first."""

from pathlib import Path

from click.testing import CliRunner

from benchmarks import messages
from tests.search.small_index import NAME, parsed, publish
from treeline.engine.embedded import EmbeddedStore

FILES = {
    "a.py": """
def one():
    raise ValueError("the first thing is not there")

def two():
    raise KeyError('the second "thing" went wrong',)

def three():
    raise ValueError(f"the third thing {one} failed badly")

def four():
    raise TypeError("raised twice in this index")

def five():
    raise TypeError("Raised twice in this index")

def six():
    raise OSError("too short")
    raise OSError("a value of %s is not allowed")
"""
}


def test_only_whole_messages_that_one_function_raises_are_asked() -> None:
    functions, _ = parsed(FILES)
    by_id = {function.id: function.func_name for function in functions}
    found = {text: by_id[id_] for text, id_ in messages.messages(functions).items()}
    assert found == {"the first thing is not there": "one", 'the second "thing" went wrong': "two"}


def test_a_seed_makes_the_same_sample_again() -> None:
    found = {f"message number {number} of many": str(number) for number in range(50)}
    one, again, other = (messages.dataset(found, 10, seed, "x", quoted=False).cases for seed in (1, 1, 2))
    assert one == again and one != other


def test_the_command_finds_them_quoted_and_unquoted(tmp_path: Path) -> None:
    publish(EmbeddedStore(tmp_path), *parsed(FILES))
    for options in (["--quoted"], []):
        done = CliRunner(env={"TREELINE_HOME": str(tmp_path)}).invoke(
            messages.command, ["--name", NAME, *options], catch_exceptions=False
        )
        shown = " ".join(done.output.split())
        assert "MRR 1.000" in shown and "2 questions" in shown
