"""The way to an Elasticsearch cluster: several hosts, quick to notice that one is gone, errors that speak."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3
from elastic_transport import HttpHeaders, Urllib3HttpNode
from elastic_transport._node import NodeApiResponse
from elastic_transport.client_utils import DEFAULT, DefaultType, url_to_node_config
from elasticsearch import (
    ApiError,
    AuthenticationException,
    AuthorizationException,
    Elasticsearch,
    NotFoundError,
    TransportError,
)
from elasticsearch.serializer import OrjsonSerializer

from corpus.errors import CredentialsRefused, EngineUnavailable, InputError, TreelineError

CONNECT_SECONDS = 2.0  # a machine that is gone is noticed in this time, however long an answer may take
ANSWER_SECONDS = 10.0
ADMIN_SECONDS = 120.0  # creating, cloning and refreshing wait for shards
BULK_SECONDS = 120.0
CONNECTIONS = 32
BUSY = frozenset({429, 502, 503, 504})  # come back later
BLOCKED = "cluster_block_exception"  # comes as 403 too: not who asks is refused, but that anything is written


class QuickToConnect(Urllib3HttpNode):
    """A node with a short time to connect and its own time to answer."""

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
        return super().perform_request(method, target, body=body, headers=headers, request_timeout=both)


def connect(
    urls: Sequence[str], *, user: str = "", password: str = "", api_key: str = "", ca: str = ""
) -> Elasticsearch:
    """A client that goes on to the next host when one does not answer. Nothing is sent yet."""
    for url in urls:
        _check_address(url)
    if ca and not Path(ca).is_file():
        raise InputError(
            f"there is no file {ca!r} with the certificate authority of Elasticsearch",
            "set TREELINE_ELASTICSEARCH_CA to one that is there, or to nothing",
        )
    options: dict[str, Any] = {}
    if api_key:
        options["api_key"] = api_key
    elif user:
        options["basic_auth"] = (user, password)
    if ca:
        options["ca_certs"] = ca
    try:
        return Elasticsearch(
            list(urls),
            node_class=QuickToConnect,
            serializer=OrjsonSerializer(),
            request_timeout=ANSWER_SECONDS,
            connections_per_node=CONNECTIONS,
            max_retries=3,
            retry_on_timeout=False,
            retry_on_status=(502, 503, 504),
            **options,
        )
    except (ValueError, OSError) as error:
        raise InputError(f"cannot use the Elasticsearch settings: {error}", "see TREELINE_ELASTICSEARCH_URL") from error


def _check_address(url: str) -> None:
    """As the client would, but its complaint repeats the password."""
    try:
        is_address = url_to_node_config(url).scheme in ("http", "https")
    except ValueError:
        is_address = False
    if not is_address:
        raise InputError(
            f"{without_credentials(url)!r} is no address of an Elasticsearch",
            "write TREELINE_ELASTICSEARCH_URL as http://HOST:9200",
        )


@contextmanager
def server_errors(client: Elasticsearch, *, missing: bool = True) -> Iterator[None]:
    """Turn what the client raises into a word to the person (`missing`: also that something is not there)."""
    try:
        yield
    except TransportError as error:
        raise EngineUnavailable(
            f"Elasticsearch does not answer at {addresses(client)}: {_short(error)}",
            "start it, or set TREELINE_ELASTICSEARCH_URL",
        ) from error
    except (AuthenticationException, AuthorizationException) as error:
        if BLOCKED in reason(error):
            raise EngineUnavailable(
                f"Elasticsearch takes nothing in: {reason(error)}",
                "is its disk full? it goes on by itself once there is room",
            ) from error
        raise CredentialsRefused(
            f"Elasticsearch refuses the credentials: {reason(error)}",
            "set TREELINE_ELASTICSEARCH_USER and _PASSWORD, or TREELINE_ELASTICSEARCH_API_KEY",
        ) from error
    except ApiError as error:
        if isinstance(error, NotFoundError) and not missing:
            raise
        if error.status_code in BUSY:
            raise EngineUnavailable(f"Elasticsearch is overloaded: {reason(error)}", "try again later") from error
        raise TreelineError(f"Elasticsearch refuses the request: {reason(error)}", "see its log") from error


def _short(error: TransportError) -> str:
    """`…: Failed to establish a new connection: [Errno 111] Connection refused` → `Connection refused`"""
    return str(error.message).rpartition("] ")[2]


def addresses(client: Elasticsearch) -> str:
    """Where the client looks for the cluster, without credentials."""
    return ", ".join(node.base_url for node in client.transport.node_pool.all())


def without_credentials(url: str) -> str:
    """`http://user:password@host:9200` → `http://host:9200`, also when it is no valid address."""
    return re.sub(r"^(\w+://)?.*@", r"\1", url)


def reason(error: ApiError) -> str:
    """The server's own words."""
    body = error.body
    found = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(found, dict):
        causes = found.get("root_cause") or [found]
        return f"{causes[0].get('type')}: {causes[0].get('reason')}"
    return str(found or error.message)
