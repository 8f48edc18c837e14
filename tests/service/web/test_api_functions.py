"""One function over the API: what a client holds is taken for fresh only while it is."""

from collections.abc import Callable
from pathlib import Path

from apiflask import APIFlask
from flask.testing import FlaskClient

from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.sources import open_source
from treeline.search.settings import Settings


def test_a_function_that_only_moved_is_sent_again(tmp_path: Path, make_app: Callable[[Settings], APIFlask]) -> None:
    source = tmp_path / "project" / "heap.py"
    source.parent.mkdir()
    text = 'def sift(heap):\n    """Move the first item of a heap down to its place."""\n    return heap[0]\n'

    def served(before: str) -> APIFlask:
        source.write_text(before + text)
        options = LoadOptions(work=tmp_path / "work", workers=0)
        load(EmbeddedStore(tmp_path / "home"), "moved", [open_source(str(source.parent))], options)
        return make_app(Settings(home=str(tmp_path / "home"), index="moved", feedback=False))

    client = served("").test_client()
    function = client.get("/api/search?q=sift").get_json()["results"][0]["id"]
    first = client.get(f"/api/functions/{function}")
    held = {"If-None-Match": first.headers["ETag"]}
    assert client.get(f"/api/functions/{function}", headers=held).status_code == 304
    second = served("\n" * 20).test_client().get(f"/api/functions/{function}", headers=held)
    assert (first.get_json()["lines"], second.get_json()["lines"]) == ([1, 3], [21, 23])


def test_a_diff_and_a_function_are_answered_with_what_depends_on_them(client: FlaskClient) -> None:
    diff = "+++ b/shutil.py\n@@ -0,0 +1 @@\n+def rmtree(path):\n"
    answer = client.post("/api/impact", json={"diff": diff, "repo": "system"}).get_json()
    assert answer["files"] == ["shutil.py"] and answer["likely"][0]["reasons"]
    results = client.get("/api/search?q=copyfileobj").get_json()["results"]
    copy = next(one for one in results if one["func_name"] == "copyfileobj")
    answer = client.post("/api/impact", json={"function": copy["id"]}).get_json()
    assert [one["func_name"] for one in answer["definitions"]] == ["copyfileobj"]
    assert "copyfile" in [one["name"] for one in answer["dependents"] if one["certain"] and not one["in_change"]]
    refusal = client.post("/api/impact", json={"diff": diff})
    assert refusal.status_code == 400 and "name one as repo" in refusal.get_data(as_text=True)


def test_a_change_of_thousands_of_files_and_names_is_answered(client: FlaskClient) -> None:
    files = "".join(f"+++ b/f{number}.py\n@@ -0,0 +1 @@\n+x\n" for number in range(2_000))
    names = "".join(f"-def lost_{number}():\n" for number in range(3_000))
    diff = f"{files}+++ b/shutil.py\n@@ -1,3000 +1,2 @@\n{names}+def rmtree():\n+x\n"
    answer = client.post("/api/impact", json={"diff": diff, "repo": "system"}).get_json()
    assert len(answer["files"]) == 2_001 and len(answer["definitions"]) <= 2
    assert len(answer["lost_names"]) == 100 and answer["more_lost"] == 2_900
