"""A failing disk is told in words a person can act on, however little the text index says of it."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from treeline.corpus.errors import TreelineError
from treeline.engine.durable import disk_errors

GAVE_UP = "An index writer was killed.. A worker thread encountered an error (io::Error most likely) or panicked."


@pytest.fixture
def limited_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def told(path: Path, words: str, kind: type[Exception] = ValueError) -> str:
    with pytest.raises(TreelineError) as error, disk_errors(path):
        raise kind(words)
    return str(error.value)


@pytest.mark.usefixtures("limited_files")
def test_a_thread_that_gave_up_under_a_file_size_limit(tmp_path: Path) -> None:
    assert "over the allowed size" in told(tmp_path, GAVE_UP)


@pytest.mark.usefixtures("limited_files")
def test_an_array_that_was_written_in_part_under_a_file_size_limit(tmp_path: Path) -> None:
    assert "over the allowed size" in told(tmp_path, "127926 requested and 12160 written", OSError)


def test_a_thread_that_gave_up_without_a_known_cause_is_quoted(tmp_path: Path) -> None:
    assert "A worker thread" in told(tmp_path, GAVE_UP)


def test_the_cause_the_text_index_quotes_is_named(tmp_path: Path) -> None:
    assert "the disk is full" in told(tmp_path, "IoError: No space left on device")


def test_another_error_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="field missing"), disk_errors(tmp_path):
        raise ValueError("field missing")


def test_where_no_folder_can_be_made_another_is_suggested() -> None:
    folder = Path("/proc/treeline")
    with pytest.raises(TreelineError, match=r"No such file or directory.*TREELINE_HOME"), disk_errors(folder):
        folder.mkdir()
