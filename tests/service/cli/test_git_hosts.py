"""The setting of allowed git hosts holds at every entrance: `index`, `serve`, and what an agent may have indexed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.cli.test_commands import treeline
from treeline.corpus.errors import InputError, TreelineError
from treeline.search.settings import Settings
from treeline.service.cli.index import make_first_index
from treeline.service.mcp.indexing import index_folder

# Nobody listens there: past the check of the host, fetching fails.
URL = "https://127.0.0.1:1/owner/name"
REFUSED = "127.0.0.1 is not an allowed host"


def test_the_command_refuses_a_host_that_the_setting_does_not_name(tmp_path: Path) -> None:
    done = treeline(tmp_path, "index", URL)
    assert (done.returncode, REFUSED in done.stderr) == (2, True), done.stderr


def test_the_command_lets_a_host_pass_that_the_setting_names(tmp_path: Path) -> None:
    done = treeline(tmp_path, "index", URL, TREELINE_GIT_HOSTS="example.org, 127.0.0.1")
    assert done.returncode == 1, done.stderr
    assert REFUSED not in done.stderr


def test_the_first_index_of_a_server_keeps_to_the_setting(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=REFUSED):
        make_first_index(Settings(home=str(tmp_path)), (URL,))
    with pytest.raises(TreelineError) as failed:
        make_first_index(Settings(home=str(tmp_path), git_hosts="127.0.0.1"), (URL,))
    assert REFUSED not in str(failed.value)


@pytest.mark.parametrize("url", [URL, "https://github.com/owner/name", "git@github.com:owner/name.git"])
def test_an_agent_can_have_no_git_url_fetched_whatever_its_host(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        index_folder(url, Settings(home=str(tmp_path), git_hosts="*", mcp_roots=str(tmp_path)))
