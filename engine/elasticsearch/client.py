"""The client of an Elasticsearch cluster: several hosts, short connect time-outs, readable errors."""

from __future__ import annotations

import logging
import re
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import urllib3
from elastic_transport import HttpHeaders, TlsError, Urllib3HttpNode
from elastic_transport._node import NodeApiResponse
from elastic_transport.client_utils import DEFAULT, DefaultType, url_to_node_config
from elasticsearch import (
    ApiError,
    AuthenticationException,
    AuthorizationException,
    Elasticsearch,
    NotFoundError,
    TransportError,
    UnsupportedProductError,
)
from elasticsearch.serializer import OrjsonSerializer

from treeline.corpus.errors import CredentialsError, EngineUnavailable, InputError, TreelineError

CONNECT_SECONDS = 2.0  # a machine that is gone is noticed in this time, however long an answer may take
ANSWER_SECONDS = 10.0
ADMIN_SECONDS = 120.0  # creating, cloning and refreshing wait for shards
BULK_SECONDS = 120.0
READY_SECONDS = 60.0  # for a new index to be there
LIKELY_SECONDS, READY_PAUSE = 0.5, 0.1  # in which it mostly is, and between two looks
IDLE_SECONDS = 10.0  # without a copy being made until a load goes on with those that are there
CONNECTIONS = 32
BUSY = frozenset({429, 502, 503, 504})  # come back later
TOO_MANY_REQUESTS = 429
# Writing is blocked: neither rights (403) nor too many requests (429) are at fault. With 503 the cluster is not up yet.
WRITE_BLOCK, CLOSED_TO_WRITING = "cluster_block_exception", frozenset({403, TOO_MANY_REQUESTS})

PROGRESS_TIMEOUT_S = 180.0  # seconds without any progress until a load gives up
FIRST_PAUSE = 0.25  # seconds; doubled each time
LONGEST_PAUSE = 15.0

# Of the REST API, in the headers of a request: version 8 and 9 both speak 8, and 8 refuses what a client of 9 says.
COMPATIBLE = re.compile(r"compatible-with=\d+"), "compatible-with=8"

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")

AS_ADDRESS = "write TREELINE_ELASTICSEARCH_URL as http://HOST:9200"
TLS_HINT = (
    "TREELINE_ELASTICSEARCH_URL says http:// or https:// as the server speaks it, and TREELINE_ELASTICSEARCH_CA names "
    "the authority of its certificate"
)


class Node(Urllib3HttpNode):
    """A node with a short time to connect and its own time to answer, of version 8 or 9 whatever the client's."""

    def perform_request(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: HttpHeaders | None = None,
        request_timeout: DefaultType | float | None = DEFAULT,
    ) -> NodeApiResponse:
        seconds = self.config.request_timeout if isinstance(request_timeout, DefaultType) else request_timeout
        connecting = CONNECT_SECONDS if seconds is None else min(seconds, CONNECT_SECONDS)
        both: Any = urllib3.Timeout(connect=connecting, read=seconds)
        pattern, ours = COMPATIBLE
        headers = HttpHeaders({name: pattern.sub(ours, value) for name, value in (headers or {}).items()})
        return super().perform_request(method, target, body=body, headers=headers, request_timeout=both)


def connect(
    urls: Sequence[str], *, user: str = "", password: str = "", api_key: str = "", ca: str = ""
) -> Elasticsearch:
    """A client that tries the next host when one does not answer. Sends nothing yet."""
    if not urls:
        raise InputError("there is no address of an Elasticsearch", AS_ADDRESS)
    for url in urls:
        _check_address(url)
    _check_credentials(user, password, api_key)
    if ca:
        _check_authority(ca)
    options: dict[str, Any] = {"api_key": api_key, "basic_auth": user and (user, password), "ca_certs": ca}
    try:
        return Elasticsearch(
            list(urls),
            node_class=Node,
            serializer=OrjsonSerializer(),
            request_timeout=ANSWER_SECONDS,
            connections_per_node=CONNECTIONS,
            max_retries=3,
            retry_on_timeout=False,
            retry_on_status=(502, 503, 504),
            **{name: value for name, value in options.items() if value},
        )
    except (ValueError, OSError) as error:
        raise InputError(f"cannot use the Elasticsearch settings: {error}", "see TREELINE_ELASTICSEARCH_URL") from error


def _check_address(url: str) -> None:
    """Check the address here: the client's own error repeats the password."""
    try:
        is_address = url_to_node_config(url).scheme in ("http", "https")
    except ValueError:
        is_address = False
    if not is_address:
        raise InputError(f"{without_credentials(url)!r} is no address of an Elasticsearch", AS_ADDRESS)


def _check_credentials(user: str, password: str, api_key: str) -> None:
    """Refuse two kinds of credentials at once: one would be ignored silently."""
    if api_key and (user or password):
        raise InputError(
            "there are an API key and a user for Elasticsearch",
            "unset TREELINE_ELASTICSEARCH_API_KEY, or TREELINE_ELASTICSEARCH_USER and _PASSWORD",
        )
    if bool(user) != bool(password):
        there, missing = ("USER", "PASSWORD") if user else ("PASSWORD", "USER")
        raise InputError(
            f"TREELINE_ELASTICSEARCH_{there} is set and TREELINE_ELASTICSEARCH_{missing} is not", "set both or neither"
        )


def _check_authority(ca: str) -> None:
    """Before anything is sent: the client would say that the server does not answer."""
    hint = "set TREELINE_ELASTICSEARCH_CA to one that is there, or to nothing"
    if not Path(ca).is_file():
        raise InputError(f"there is no file {ca!r} with the certificate authority of Elasticsearch", hint)
    try:
        ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise InputError(f"{ca!r} holds no certificate in PEM format", hint) from error


@contextmanager
def server_errors(client: Elasticsearch, *, missing: bool = True) -> Iterator[None]:
    """Turn the client's errors into ours (`missing`: also that something is not there)."""
    try:
        yield
    except TransportError as error:
        raise EngineUnavailable(
            f"Elasticsearch does not answer at {addresses(client)}: {_short(error)}",
            TLS_HINT if isinstance(error, TlsError) else "start it, or set TREELINE_ELASTICSEARCH_URL",
        ) from error
    except ApiError as error:
        if isinstance(error, NotFoundError) and not missing:
            raise
        raise _in_words(error, client) from error


def patiently(ask: Callable[[], Answer]) -> Answer:
    """Ask again, with back-off, while the server is busy or away: a node that restarts must not end a long load."""
    end, pause = time.monotonic() + PROGRESS_TIMEOUT_S, FIRST_PAUSE
    while True:
        try:
            return ask()
        except (TransportError, ApiError) as error:
            if isinstance(error, TlsError) or (isinstance(error, ApiError) and error.status_code not in BUSY):
                raise
            if time.monotonic() + pause > end:
                raise
            log.warning("again in %.1f s: %s", pause, error.message)
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def await_shards(client: Elasticsearch, index: str, shards: int = 1) -> bool:
    """Wait until an index can be written to; where full disks are why it cannot, say so at once.

    Returns false if it takes too long; a write then says why it fails.
    """
    start = time.monotonic()
    # Polled: a request that waits ends in an error when its time is up, and the client then takes the node for dead.
    while client.cluster.health(index=index)["active_primary_shards"] < shards:
        seconds = time.monotonic() - start
        if seconds > READY_SECONDS:
            return False
        if seconds > LIKELY_SECONDS:
            for shard in range(shards):
                if full := _full_disks(client, index, shard):
                    raise EngineUnavailable(
                        f"Elasticsearch has no room for {index}: {full}",
                        "make room on the disk, or raise the setting; then run the same command again",
                    )
        time.sleep(READY_PAUSE)
    return True


def await_copies(client: Elasticsearch, index: str) -> None:
    """Wait until a cloned index has its replicas, as long as the cluster makes any.

    What is written before has one copy, and waits for that node if it goes away.
    """
    last_seen = time.monotonic()
    while (health := client.cluster.health(index=index))["status"] != "green":
        now = time.monotonic()
        if health["initializing_shards"]:
            last_seen = now
        elif now - last_seen > IDLE_SECONDS:
            log.warning("%s has fewer copies than it should: %d are on no node", index, health["unassigned_shards"])
            return
        time.sleep(READY_PAUSE)


def _full_disks(client: Elasticsearch, index: str, shard: int) -> str:
    """The nodes whose disks are too full for a shard, in the server's words; empty if there are none."""
    with suppress(ApiError, TransportError):
        explanation = client.cluster.allocation_explain(index=index, shard=shard, primary=True)
        if explanation.get("can_allocate") == "no":
            return "; ".join(
                f"node {node['node_name']}: {decider['explanation']}"
                for node in explanation["node_allocation_decisions"]
                for decider in node["deciders"]
                if decider["decider"] == "disk_threshold" and decider["decision"] == "NO"
            )
    return ""


def _in_words(error: ApiError, client: Elasticsearch) -> TreelineError:
    why = reason(error)
    if isinstance(error, UnsupportedProductError):
        return EngineUnavailable(
            f"what answers at {addresses(client)} is no Elasticsearch 8 or 9",
            "look at TREELINE_ELASTICSEARCH_URL; OpenSearch and Elasticsearch 7 will not do",
        )
    if WRITE_BLOCK in why and error.status_code in CLOSED_TO_WRITING:
        return EngineUnavailable(
            f"Elasticsearch takes nothing in: {why}", "is its disk full? it goes on by itself once there is room"
        )
    if isinstance(error, AuthorizationException):
        return CredentialsError(
            f"Elasticsearch does not give this user the right: {why}",
            "give it the role of deploy/elasticsearch/role.json, or of reader.json to search only",
        )
    if isinstance(error, AuthenticationException):
        return CredentialsError(
            f"Elasticsearch refuses the credentials: {why}",
            "set TREELINE_ELASTICSEARCH_USER and _PASSWORD, or TREELINE_ELASTICSEARCH_API_KEY",
        )
    if error.status_code == TOO_MANY_REQUESTS:
        return EngineUnavailable(f"Elasticsearch is overloaded: {why}", "try again later")
    if error.status_code in BUSY:
        return EngineUnavailable(
            f"Elasticsearch cannot answer now: {why}", "try again later; `treeline doctor` shows its health"
        )
    return TreelineError(f"Elasticsearch refuses the request: {why}", "see its log")


def _short(error: TransportError) -> str:
    """`…: Failed to establish a new connection: [Errno 111] Connection refused)` → `Connection refused`"""
    return re.sub(r" \(_ssl\.c:\d+\)|\)$", "", str(error.message).rpartition("] ")[2])


def addresses(client: Elasticsearch) -> str:
    """The addresses of the cluster, without credentials."""
    return ", ".join(node.base_url for node in client.transport.node_pool.all())


def without_credentials(url: str) -> str:
    """`http://user:password@host:9200` → `http://host:9200`, also when it is no valid address."""
    return re.sub(r"^(\w+://)?.*@", r"\1", url)


def reason(error: ApiError) -> str:
    """The server's own words."""
    body = error.body
    details = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(details, dict):
        cause = (details.get("root_cause") or [details.get("caused_by") or details])[0]
        # It goes on with advice for whoever wrote the request.
        return f"{cause.get('type')}: {cause.get('reason')}".partition(". Consider using")[0]
    return str(details or error.message)
