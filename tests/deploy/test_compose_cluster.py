"""The compose file's own Elasticsearch settings on real nodes: certificates, TLS, the role, two nodes joining."""

import os
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import elasticsearch_server
from tests.elasticsearch_download import NOBODY, ServerMissing, fetch
from tests.elasticsearch_server import Cluster, Node, free_port
from tests.service_process import service
from treeline.corpus.errors import CredentialsError, EngineUnavailable
from treeline.engine.elasticsearch import ElasticsearchStore
from treeline.engine.elasticsearch.client import connect
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.sources import open_source
from treeline.search.live import open_searcher
from treeline.search.query import Query
from treeline.search.settings import Settings, open_store

pytestmark = [pytest.mark.slow, pytest.mark.elasticsearch]
ROOT = Path(__file__).parents[2]
NAMES = ("elasticsearch", "elasticsearch-2", "elasticsearch-3")
PASSWORD, SERVICE_PASSWORD = 'el"as\\tic 1', "treeline-password"
ROLES = {"treeline": "role.json", "reader": "reader.json"}
FOUND = ["tame_llamas", "animals.py"]  # the function, then its file
services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]


def java() -> dict[str, str]:
    return elasticsearch_server._environment(Path("/nonexistent/config"), "64m") | {
        "ES_PATH_CONF": str(fetch() / "config")
    }


@pytest.fixture(scope="module")
def certificates() -> Iterator[Path]:
    """Made by the script that the compose file runs, with Elasticsearch's own tool."""
    if os.getuid() != 0:
        pytest.skip("the script gives keys to root's group, as in its container: only root can run it")
    try:
        home = fetch()
    except ServerMissing as missing:
        pytest.skip(str(missing))
    folder = Path(tempfile.mkdtemp(prefix="treeline-certificates-"))
    folder.chmod(0o755)
    environment = {**java(), "CERTIFICATES": str(folder), "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
    environment.pop("ES_TMPDIR")
    script = ["bash", str(ROOT / "deploy" / "elasticsearch" / "certificates.sh")]
    for _ in range(2):  # the second time finds them
        subprocess.run(script, env=environment, check=True, capture_output=True, timeout=300)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def cluster(certificates: Path) -> Iterator[Cluster]:
    """Three configured nodes, of which only the first is started."""
    folder = Path(tempfile.mkdtemp(prefix="treeline-compose-"))
    folder.chmod(0o755)
    made = Cluster(folder, password=PASSWORD)
    made.nodes = [Node(name, free_port(), free_port(), folder / name) for name in NAMES]
    for node in made.nodes:
        elasticsearch_server._configure(made, node)
        as_in_compose(made, node, certificates)
    first, *others = (node.folder / "config" for node in made.nodes)
    secrets = secrets_in(first)
    for config in others:
        for file in secrets:
            shutil.copy(first / file, config / file)
    for config in (first, *others):
        for path in config.iterdir():
            if path.is_file():
                os.chown(path, NOBODY, NOBODY)
    made.tls = True
    shutil.copy(certificates / "ca" / "ca.crt", folder / "ca.pem")
    try:
        made.start(made.nodes[0])
        made.wait(1)
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def as_in_compose(cluster: Cluster, node: Node, certificates: Path) -> None:
    """The node's settings are those of the file; only addresses, ports and folders are this machine's."""
    config = node.folder / "config"
    shutil.copytree(certificates, config / "certs")
    for path in (config / "certs", *(config / "certs").rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    settings = dict(services[node.name]["environment"])
    for own in ("ELASTIC_PASSWORD", "bootstrap.memory_lock", "xpack.ml.enabled"):  # no such module in the test server
        settings.pop(own)
    settings["path.repo"] = str(cluster.folder / "snapshots")
    settings["discovery.seed_hosts"] = ",".join(f"127.0.0.1:{other.transport_port}" for other in cluster.nodes)
    kept = [
        line
        for line in (config / "elasticsearch.yml").read_text(encoding="utf-8").splitlines()
        if not line.startswith(("discovery.", "cluster.initial", "cluster.name", "node.name", "path.repo", "xpack."))
    ]
    lines = [*kept, *(f'{name}: "{value}"' for name, value in settings.items())]
    (config / "elasticsearch.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    # The test server cannot keep users in an index (it lacks an analyser), so role and user come from files; the
    # role is the very file that users.sh sends.
    texts = {role: (ROOT / "deploy" / "elasticsearch" / file).read_text("utf-8") for role, file in ROLES.items()}
    lines = [f"{role}: {text.replace(chr(10), ' ')}\n" for role, text in texts.items()]
    (config / "roles.yml").write_text("".join(lines), encoding="utf-8")


def secrets_in(config: Path) -> tuple[str, ...]:
    """Make the password of `elastic` and the two users; the files that hold them, the same for every node."""
    environment = elasticsearch_server._environment(config, "64m")

    def tool(name: str, *arguments: str, said: str = "") -> None:
        command = [str(fetch() / "bin" / name), *arguments]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=300, input=said.encode())

    tool("elasticsearch-keystore", "create")
    tool("elasticsearch-keystore", "add", "--stdin", "bootstrap.password", said=PASSWORD)
    for role in ROLES:
        tool("elasticsearch-users", "useradd", role, "-p", SERVICE_PASSWORD, "-r", role)
    return "elasticsearch.keystore", "users", "users_roles"


def test_certificates_are_for_their_names_and_keys_are_not_for_everybody(certificates: Path) -> None:
    for name in NAMES:
        shown = subprocess.run(
            ["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", str(certificates / name / f"{name}.crt")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert f"DNS:{name}" in shown
        assert "DNS:localhost" in shown
        assert (certificates / name / f"{name}.key").stat().st_mode & 0o007 == 0
    assert (certificates / "ca" / "ca.key").stat().st_mode & 0o077 == 0
    assert (certificates / "ca" / "ca.crt").stat().st_mode & 0o004
    ssl.create_default_context(cafile=str(certificates / "ca" / "ca.crt"))


def test_the_service_loads_and_answers_over_tls_with_no_more_rights_than_its_role(
    cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "farm").mkdir()
    code = 'def tame_llamas(herd):\n    """Calm a herd of llamas."""\n    return sorted(herd)\n'
    (tmp_path / "farm" / "animals.py").write_text(code, encoding="utf-8")
    settings = {
        "home": str(tmp_path / "home"),
        "engine": "elasticsearch",
        "elasticsearch_url": cluster.urls[0],
        "elasticsearch_user": "treeline",
        "elasticsearch_password": SERVICE_PASSWORD,
        "elasticsearch_ca": cluster.ca,
        "first_source": str(tmp_path / "farm"),
        "lane_timeout": "60",  # a server that has just started is slow
    }
    with service(tmp_path, settings) as running:
        running.wait_for("/readyz", 200)
        status, answer = running.get("/api/search?q=calm+llamas", 60)
        assert status == 200
        assert answer["results"]
    assert SERVICE_PASSWORD not in running.log()
    from elasticsearch import AuthorizationException

    with connect(cluster.urls[:1], user="treeline", password=SERVICE_PASSWORD, ca=cluster.ca) as client:
        with pytest.raises(AuthorizationException):
            client.indices.create(index="other")
        with pytest.raises(AuthorizationException):
            client.cluster.put_settings(persistent={"action.auto_create_index": "true"})
        with pytest.raises(AuthorizationException):
            client.search(index="other")


def settings_of(user: str, cluster: Cluster, home: Path) -> Settings:
    return Settings(
        home=str(home),
        engine="elasticsearch",
        elasticsearch_url=cluster.urls[0],
        elasticsearch_user=user,
        elasticsearch_password=SERVICE_PASSWORD,
        elasticsearch_ca=cluster.ca,
        lane_timeout=60,
    )


def test_an_index_that_is_gone_comes_back_from_a_snapshot(cluster: Cluster, tmp_path: Path) -> None:
    """The requests are those of docs/how-to/operate.md, and the one who makes them is `elastic`."""
    folder = cluster.folder / "snapshots"
    folder.mkdir(exist_ok=True)  # where the node made it when it started
    os.chown(folder, NOBODY, NOBODY)
    settings = settings_of("treeline", cluster, tmp_path)
    store = open_store(settings)
    before = store.info("default")
    with connect(cluster.urls[:1], user="elastic", password=PASSWORD, ca=cluster.ca).options(
        request_timeout=300
    ) as client:
        place = {"type": "fs", "settings": {"location": str(folder)}}
        client.snapshot.create_repository(name="treeline", repository=place)
        client.snapshot.create(
            repository="treeline",
            snapshot="monday",
            indices="treeline-*",
            include_global_state=False,
            wait_for_completion=True,
        )
        store.drop("default")
        assert "default" not in store.names()
        client.snapshot.restore(
            repository="treeline", snapshot="monday", indices="treeline-default-*", wait_for_completion=True
        )
    assert store.info("default") == before
    searcher = open_searcher(settings)
    assert [result.function.func_name for result in searcher.search(Query("calm llamas")).results] == FOUND
    searcher.close()


def test_who_only_searches_needs_no_more_than_to_read(cluster: Cluster, tmp_path: Path) -> None:
    reader = replace(settings_of("reader", cluster, tmp_path), feedback=False)
    searcher = open_searcher(reader)
    assert [result.function.func_name for result in searcher.search(Query("calm llamas")).results] == FOUND
    searcher.close()
    with pytest.raises(CredentialsError, match="does not give this user the right"):
        open_store(reader).drop(reader.index)


def test_a_load_without_the_right_to_create_an_index_is_one_clear_line(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "farm").mkdir()
    (tmp_path / "farm" / "animals.py").write_text("def shear(sheep):\n    return sheep.wool\n", encoding="utf-8")
    for user, password, said in (
        ("reader", SERVICE_PASSWORD, "does not give this user the right"),
        ("treeline", "wrong", "refuses the credentials"),
    ):
        settings = replace(settings_of(user, cluster, tmp_path), elasticsearch_password=password)
        with pytest.raises(CredentialsError, match=said) as told:
            load(
                open_store(settings), "half", [open_source(str(tmp_path / "farm"))], LoadOptions(work=tmp_path / "work")
            )
        assert "\n" not in str(told.value)
        assert password not in str(told.value)
    assert "half" not in open_store(settings_of("treeline", cluster, tmp_path)).names()
    with connect(cluster.urls[:1], user="elastic", password=PASSWORD, ca=cluster.ca) as client:
        assert not client.indices.get(index="treeline-half*").body


def test_a_wrong_password_or_an_unknown_authority_is_one_clear_line(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="refuses the credentials"):
        ElasticsearchStore(cluster.urls[:1], user="treeline", password="wrong", ca=cluster.ca).names()
    with pytest.raises(EngineUnavailable, match="certificate"):
        ElasticsearchStore(cluster.urls[:1], user="treeline", password=SERVICE_PASSWORD).names()


def test_two_nodes_join_the_one_that_already_runs_and_take_a_replica(cluster: Cluster) -> None:
    for node in cluster.nodes[1:]:
        cluster.start(node)
    cluster.wait(3)
    with connect(cluster.urls, user="elastic", password=PASSWORD, ca=cluster.ca) as client:
        health = client.options(request_timeout=300).cluster.health(wait_for_status="green", timeout="290s")
        assert (health["status"], health["number_of_nodes"]) == ("green", 3)
        rows = client.cat.indices(index="treeline-default-*", format="json", h="index,rep")
        assert {row["rep"] for row in rows} == {"1"}  # type: ignore[index]
