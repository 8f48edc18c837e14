"""The direction of a conversion, end to end: the opposite follows, and a verb of pushing is no conversion."""

from collections.abc import Iterator

import pytest

from tests.ingest.loading import NAME, loaded, project
from treeline.ingest.source import ReadOptions
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.query import Query
from treeline.search.settings import Settings

FILES = {
    "hub/mixin.py": '''
"""Share models on the Hugging Face Hub."""
import json
import os

class PushToHubMixin:
    """Pushes models to the Hub and loads them from it."""

    def push_folder_to_hub(self, folder, repo_id, token=None):
        """Push a folder with a model, its weights and its configuration to the HuggingFace Hub."""
        api = HubApi(token)
        for name in os.listdir(folder):
            api.upload_file(os.path.join(folder, name), repo_id)

def download_snapshot(repo_id, revision=None):
    """Download all files of a repository on the Hub into the cache."""
    return HubApi().snapshot(repo_id, revision)

class HubApi:
    def __init__(self, token=None):
        self.token = token

    def upload_file(self, path, repo_id):
        """Upload one file."""
        return self.post(f"/repos/{repo_id}", open(path, "rb"))
''',
    "hub/config.py": '''
import json

def load_config(path):
    """Read the configuration of a model from JSON."""
    with open(path) as file:
        return json.load(file)

def save_config(config, path):
    """Write the configuration of a model as JSON."""
    with open(path, "w") as file:
        json.dump(config, file)
''',
    "text/numbers.c": """
#include <stddef.h>

/* Convert a string to an int. */
int atoi(const char *string)
{
    int value = 0;
    while (*string >= '0' && *string <= '9')
        value = value * 10 + (*string++ - '0');
    return value;
}

/* Write an int as a string of decimal digits. */
char *format_int(int number, char *buffer)
{
    size_t at = 0;
    do {
        buffer[at++] = '0' + number % 10;
    } while (number /= 10);
    return buffer;
}

/* Convert an int to a string in any base. */
char *itoa(int number, char *string, int base)
{
    return convert(number, string, base);
}

/* Print an int as a string. */
void print_int(int number)
{
    char string[12];
    itoa(number, string, 10);
    puts(string);
}
""",
}


@pytest.fixture(scope="module", params=["everything", "functions"])
def searcher(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSearcher]:
    """With units of all kinds, as a repository has, and with functions alone, as CodeSearchNet has."""
    folder = tmp_path_factory.mktemp("direction")
    read = ReadOptions() if request.param == "everything" else ReadOptions(kinds=frozenset({"function", "method"}))
    loaded(folder / "home", project(folder / "models", FILES), read=read)
    found = open_searcher(Settings(home=str(folder / "home"), index=NAME, lane_timeout=30), once=True)
    yield found
    found.close()


def functions(searcher: LiveSearcher, text: str) -> list[str]:
    results = searcher.search(Query(text, k=20)).results
    return [one.function.func_name for one in results if one.function.kind in ("function", "method")]


def test_pushing_and_loading_is_no_conversion_that_push_to_would_turn_round(searcher: LiveSearcher) -> None:
    results = searcher.search(Query("pushing and loading models from HuggingFace Hub", k=20)).results
    own = [one for one in results if one.function.func_name.startswith("PushToHubMixin")]
    assert results[0] == own[0]  # the method, or its class where classes are units
    method = next(one for one in own if one.function.func_name == "PushToHubMixin.push_folder_to_hub")
    assert method.rank <= 3
    assert "opposite" not in method.candidate.reason


def test_a_name_that_parses_a_number_does_not_answer_how_to_write_one(searcher: LiveSearcher) -> None:
    found = functions(searcher, "convert int to string")
    assert found[0] == "itoa"
    assert found.index("atoi") > 1 and found.index("atoi") > found.index("print_int")
    assert functions(searcher, "convert string to int")[0] == "atoi"
