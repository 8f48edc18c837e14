"""A real Elasticsearch for the tests: one or several nodes on loopback, run by a user that is not root.

`python -m tests.elasticsearch_server` starts one to try things.
"""

import argparse
import base64
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from tests.elasticsearch_download import (
    NEWEST,
    NOBODY,
    OPENSEARCH,
    OTHER_USER,
    VERSION,
    ServerMissing,
    fetch,
    java_home,
)

HEAP = "512m"
SHORT_LIVED = "-XX:TieredStopAtLevel=1"  # compiles once and quickly: half the processor time until it answers
VECTOR_MODULE = "jdk.incubator.vector"  # not in every Java; the server asks for it and does not start without
START_SECONDS = 600  # three at once on two busy cores take two minutes, and some machines are busier
STOP_SECONDS = 120
PORTS = (10_000, 32_000)
NO_GROUPS: list[str | int] | None = [] if os.getuid() == 0 else None
USER = "elastic"


def free_port() -> int:
    """One that nobody listens at, below those that the system lends to connections: it stays free until it is used."""
    while True:
        port = random.SystemRandom().randrange(*PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@dataclass
class Node:
    """One running server process."""

    name: str
    http_port: int
    transport_port: int
    folder: Path
    process: subprocess.Popen[bytes] | None = None
    version: str = VERSION

    def kill(self) -> None:
        """As `kill -9`: no farewell to the others."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def pause(self) -> None:
        """Alive but silent, as a machine that hangs."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGCONT)

    def log(self) -> str:
        return (self.folder / "console.log").read_text(encoding="utf-8", errors="replace")

    def _signal(self, number: signal.Signals) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        os.killpg(self.process.pid, number)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(STOP_SECONDS)


@dataclass
class Cluster:
    """One or several nodes on loopback, and how a client reaches them."""

    folder: Path
    password: str = ""
    tls: bool = False
    heap: str = HEAP
    nodes: list[Node] = field(default_factory=list)
    version: str = VERSION
    lasting: bool = False
    """Whether it runs long enough to be compiled in full, as a server in use is: twice as quick once warm."""

    @property
    def urls(self) -> list[str]:
        scheme = "https" if self.tls else "http"
        return [f"{scheme}://127.0.0.1:{node.http_port}" for node in self.nodes]

    @property
    def url(self) -> str:
        return self.urls[0]

    @property
    def product(self) -> str:
        return "opensearch" if self.version.startswith("opensearch") else "elasticsearch"

    @property
    def user(self) -> str:
        return USER if self.password else ""

    @property
    def ca(self) -> str:
        """File with the certificate to trust; empty without TLS."""
        return str(self.folder / "ca.pem") if self.tls else ""

    def start(self, node: Node, version: str = "") -> None:
        """Start a node, for the first time or again on its old data, also in another version."""
        if version not in ("", node.version):
            node.version = version
            _configure(self, node)
        with (node.folder / "console.log").open("ab") as console:
            node.process = subprocess.Popen(
                [*_with_parent(), str(fetch(node.version) / "bin" / self.product)],
                env=_environment(node.folder / "config", self.heap, node.version, lasting=self.lasting),
                stdout=console,
                stderr=subprocess.STDOUT,
                cwd=node.folder,
                start_new_session=True,
                user=OTHER_USER,
                group=OTHER_USER,
                extra_groups=NO_GROUPS,
            )

    def wait(self, nodes: int | None = None, seconds: float = START_SECONDS) -> None:
        """Until the cluster has that many nodes (by default all) and answers."""
        wanted = len(self.nodes) if nodes is None else nodes
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for node in self.nodes:
                if node.process is not None and node.process.poll() is None and self._answers(node, wanted):
                    return
            if all(node.process is None or node.process.poll() is not None for node in self.nodes):
                break
            time.sleep(0.3)
        raise RuntimeError("Elasticsearch did not start:\n" + "\n".join(node.log()[-3000:] for node in self.nodes))

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def _answers(self, node: Node, wanted: int) -> bool:
        scheme = "https" if self.tls else "http"
        context = ssl.create_default_context(cafile=self.ca) if self.tls else None
        # Nodes that have found each other may still refuse every question until they know what they hold.
        for path in (f"_cluster/health?wait_for_nodes={wanted}&timeout=1s", "_alias"):
            request = urllib.request.Request(f"{scheme}://127.0.0.1:{node.http_port}/{path}")
            if self.password:
                token = base64.b64encode(f"{USER}:{self.password}".encode()).decode()
                request.add_header("Authorization", f"Basic {token}")
            try:
                with urllib.request.urlopen(request, timeout=5, context=context):
                    pass
            except (OSError, HTTPException):
                return False
        return True


@contextmanager
def running(
    *, nodes: int = 1, heap: str = HEAP, version: str = VERSION, lasting: bool = False, kept: Path | None = None
) -> Iterator[Cluster]:
    """A cluster of so many nodes without security, stopped and removed at the end; with its data in `kept`, it stays
    there for the next time."""
    fetch(version)
    java_home(version)
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    folder = kept or Path(tempfile.mkdtemp(prefix="treeline-elasticsearch-"))
    folder.chmod(0o755)
    cluster = Cluster(folder, heap=heap, version=version, lasting=lasting)
    try:
        cluster.nodes = [
            Node(f"node{n}", free_port(), free_port(), folder / f"node{n}", version=version) for n in range(nodes)
        ]
        for node in cluster.nodes:
            _configure(cluster, node)
        for node in cluster.nodes:
            cluster.start(node)
        cluster.wait()
        yield cluster
    finally:
        cluster.stop()
        if kept is None:
            shutil.rmtree(folder, ignore_errors=True)


def _configure(cluster: Cluster, node: Node) -> None:
    config = node.folder / "config"
    shutil.copytree(fetch(node.version) / "config", config, dirs_exist_ok=True)
    (node.folder / "tmp").mkdir(exist_ok=True)
    fit_options(config / "jvm.options", java_home(node.version))
    names = ", ".join(other.name for other in cluster.nodes)
    seeds = ", ".join(f"127.0.0.1:{other.transport_port}" for other in cluster.nodes)
    lines = [
        f"cluster.name: {cluster.folder.name}",
        f"node.name: {node.name}",
        "network.host: 127.0.0.1",
        f"http.port: {node.http_port}",
        f"transport.port: {node.transport_port}",
        f"path.data: {node.folder / 'data'}",
        f"path.logs: {node.folder / 'logs'}",
        f"path.repo: {node.folder.parent / 'snapshots'}",
        "cluster.routing.allocation.disk.threshold_enabled: false",
    ]
    if cluster.product == "elasticsearch":
        lines.append("xpack.security.enabled: false")
    if len(cluster.nodes) == 1:
        lines.append("discovery.type: single-node")
    else:
        lines += [f"discovery.seed_hosts: [{seeds}]", f"cluster.initial_master_nodes: [{names}]"]
    (config / f"{cluster.product}.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    snapshots = node.folder.parent / "snapshots"
    snapshots.mkdir(exist_ok=True)
    _give_away(snapshots)
    _give_away(node.folder)


def fit_options(options: Path, java: Path) -> None:
    """Leave out what this Java or a server of its own user cannot do."""
    unwanted = ["file=logs/"]  # OpenSearch logs its garbage collection into its own folder, which is not ours to write
    if not _has_vector_module(java):
        unwanted.append(VECTOR_MODULE)
    lines = options.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not any(part in line for part in unwanted)]
    options.write_text("\n".join(kept) + "\n", encoding="utf-8")


def _has_vector_module(java: Path) -> bool:
    listed = subprocess.run([java / "bin" / "java", "--list-modules"], capture_output=True, text=True, check=False)
    return VECTOR_MODULE in listed.stdout


def _environment(config: Path, heap: str, version: str = VERSION, *, lasting: bool = False) -> dict[str, str]:
    values = {
        "JAVA_HOME": str(java_home(version)),
        "PATH_CONF": str(config),
        "JAVA_OPTS": f"-Xms{heap} -Xmx{heap} {'' if lasting else SHORT_LIVED}",
        "TMPDIR": str(config.parent / "tmp"),
    }
    prefix = "OPENSEARCH" if version.startswith("opensearch") else "ES"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(config.parent),
        "LANG": "C.UTF-8",
        **{f"{prefix}_{name}": value for name, value in values.items()},
    }


def _with_parent() -> list[str]:
    """Lets the server end with the tests, also when these are killed and cannot stop it."""
    return ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []


def _give_away(folder: Path) -> None:
    if OTHER_USER is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--heap", default=HEAP)
    parser.add_argument("--version", default=VERSION, help=f"such as {NEWEST} or {OPENSEARCH}")
    parser.add_argument("--lasting", action="store_true", help="compile in full: for benchmarks")
    parser.add_argument("--kept", type=Path, help="a folder for the data, which stays there for the next time")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with running(**vars(parser.parse_args())) as cluster:
            print(",".join(cluster.urls), flush=True)
            signal.pause()
    except ServerMissing as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
