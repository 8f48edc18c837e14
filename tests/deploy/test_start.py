"""The container's start script, run here as it runs there: it waits, loads a first index, serves, and ends cleanly."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.http import children
from tests.service_process import service
from tests.waiting import until
from treeline.service.http.keys import KeyRing

CODE = '''def tame_llamas(herd):
    """Calm a herd of llamas."""
    return sorted(herd)


def shear_sheep(flock):
    """Shear every sheep of a flock."""
    return [sheep.shear() for sheep in flock]
'''


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources") / "farm"
    folder.mkdir()
    (folder / "animals.py").write_text(CODE, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_first_start_loads_an_index_and_the_second_finds_it(tmp_path: Path, farm: Path) -> None:
    settings = {"home": str(tmp_path / "home"), "first_source": str(farm), "trust_loopback": "0"}
    with service(tmp_path, settings) as running:
        running.wait_for("/readyz", 200)
        status, answer = running.get("/api/search?q=calm+llamas&mode=keyword")
        assert status == 200
        assert "tame_llamas" in json.dumps(answer)
        assert running.stop() == 0
    first = running.log()
    with service(tmp_path, settings) as running:
        running.wait_for("/readyz", 200)
    second = running.log().removeprefix(first)
    assert "animals" not in second
    assert "tame_llamas" not in second


@pytest.mark.slow
def test_the_log_is_json_without_questions_or_keys_and_metrics_count(tmp_path: Path, farm: Path) -> None:
    home = tmp_path / "home"
    key = KeyRing(home / ".keys.json").create("test", ["read"])
    settings = {"home": str(home), "first_source": str(farm), "trust_loopback": "0"}
    with service(tmp_path, settings) as running:
        running.wait_for("/readyz", 200)
        begun = len(running.log())
        for number in range(40):
            headers = {"X-API-Key": key, "X-Request-ID": f"request-{number}"}
            assert running.get(f"/api/search?q=secretllama{number}&mode=keyword", headers=headers)[0] == 200
        _, text = running.get("/metrics")
        counted = sum(
            float(value)
            for value in re.findall(
                r'^treeline_http_requests_total\{.*route="/api/search".*\} (\S+)$', text, re.MULTILINE
            )
        )
        assert counted == 40
        assert 'treeline_search_stage_seconds_bucket{le="' in text
        assert re.search(r"^treeline_index_age_seconds\{.*\} \d", text, re.MULTILINE)
        assert re.search(r"^treeline_http_queue \d", text, re.MULTILINE)
        assert running.stop() == 0  # by then everything is written
        lines = [json.loads(line) for line in running.log()[begun:].splitlines()]
    asked = [line for line in lines if line.get("path") == "/api/search"]
    assert {line["request_id"] for line in asked} == {f"request-{number}" for number in range(40)}
    assert all(line["key"] == key.split("_")[1] and line["ms"] > 0 for line in asked)
    assert "secretllama" not in running.log()
    assert key not in running.log()


@pytest.mark.slow
def test_without_a_source_the_service_starts_and_says_what_is_missing(tmp_path: Path) -> None:
    with service(tmp_path, {"home": str(tmp_path / "home"), "first_source": ""}) as running:
        running.wait_for("/healthz", 200)
        assert running.get("/readyz")[0] == 503
        status, answer = running.get("/api/search?q=x")
        assert status == 503
        assert "treeline index" in answer["error"]["hint"]


@pytest.mark.slow
def test_a_source_that_cannot_be_read_does_not_keep_the_service_down(tmp_path: Path) -> None:
    with service(tmp_path, {"home": str(tmp_path / "home"), "first_source": "/no/such", "start_wait": "5"}) as running:
        running.wait_for("/healthz", 200)
        assert running.get("/readyz")[0] == 503
    assert "the service starts without an index" in running.log()


@pytest.mark.slow
def test_told_to_stop_while_it_loads_it_ends_in_order_and_leaves_nothing_running(tmp_path: Path) -> None:
    with service(tmp_path, {"home": str(tmp_path / "home"), "first_source": "python-env"}) as running:
        until(lambda: "no index 'default' yet" in running.log())
        [loader] = children(running.process.pid)
        assert running.stop() == 143
        assert not Path(f"/proc/{loader}").exists()
    assert "interrupted (the same command continues from here)" in running.log()


@pytest.mark.slow
def test_where_everybody_needs_a_key_and_there_is_none_the_log_says_how_to_make_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = {"home": str(home), "first_source": "", "keys_required": "all", "trust_loopback": "0"}
    with service(tmp_path, settings) as running:
        running.wait_for("/healthz", 200)
        assert running.get("/api/search?q=x")[0] == 401
        key = KeyRing(home / ".keys.json").create("first", ["read"])
        assert running.get("/api/search?q=x", headers={"X-API-Key": key})[0] == 503  # there is no index
    [told] = [line for line in running.log().splitlines() if "KEYS_REQUIRED" in line]
    assert json.loads(told)["level"] == "warning"
    assert "nobody is answered; make one with: treeline keys create NAME" in told
