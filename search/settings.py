"""The settings: one row each, read from `TREELINE_…` variables. The docs are made from this table."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treeline.corpus.errors import InputError, require_extra
from treeline.corpus.frozen import frozen
from treeline.engine.names import check_name

if TYPE_CHECKING:
    from treeline.engine.protocol import Store

PREFIX = "TREELINE_"
# Variables that Kubernetes sets in every pod for a service called `treeline` or `treeline-…`.
KUBERNETES = re.compile(r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)?)")
OTHERS = frozenset({"PASSWORD", "CHROMIUM", "SCREENSHOTS"})  # used by the compose file and the browser tests
MOST = 1_000_000_000  # the largest number any setting takes
ENGINES = ("embedded", "elasticsearch")
QUALITIES = (FAST, BEST) = ("fast", "best")
MODES = ("hybrid", "keyword", "dense", "graph")


def setting(default: Any, help_text: str, least: float = 0, choices: tuple[str, ...] = ()) -> Any:
    """One setting; `least` is the smallest allowed number, `choices` the allowed words."""
    return field(default=default, metadata={"help": help_text, "least": least, "choices": choices})


@frozen(kw_only=True)
class Settings:
    """All settings, with their defaults."""

    home: str = setting("", "Folder of the embedded indexes; empty: the user's data folder.")
    engine: str = setting("embedded", "Where indexes live: `embedded` or `elasticsearch`.", choices=ENGINES)
    index: str = setting("default", "Name of the index to search.")
    indexes: str = setting("", "More indexes to serve, separated by commas; `*`: all that are there.")
    encoder: str = setting(
        "static",
        "Encoder of new indexes: `static`, `deep`, `none`, an encoder's folder, or a transformer. If set, "
        "a project's index of another encoder is rebuilt.",
    )
    elasticsearch_url: str = setting("http://127.0.0.1:9200", "One or more addresses, separated by commas.")
    elasticsearch_user: str = setting("", "User name, when security is on.")
    elasticsearch_password: str = setting("", "Password of that user.")
    elasticsearch_api_key: str = setting("", "API key, instead of user and password.")
    elasticsearch_ca: str = setting("", "File with the certificate authority of the cluster's TLS.")
    mode: str = setting("hybrid", "Which lanes (searches) run by default.", choices=MODES)
    fusion: str = setting("default", "How the lanes' lists are fused by default.")
    rerank: str = setting("default", "How the fused list is re-ranked by default.")
    quality: str = setting(
        "fast",
        "`best`: a model reads the first results together with the question; needs the extra `deep`.",
        choices=QUALITIES,
    )
    reader: str = setting(
        "", "Folder of another model for `best`, by `python -m lab.train pairs`; empty: the shipped one."
    )
    diversity: float = setting(
        0.5, "How varied results are by default: 0 by relevance alone, 1 the best of each part of the tree first."
    )
    expand: bool = setting(False, "Search every query again with words that the best results share.")
    results: int = setting(10, "How many results a search returns by default.", 1)
    lane_timeout: float = setting(3.0, "Seconds that a lane may take before it is left out of the answer.", 0.001)
    lane_depth: int = setting(300, "How many results each lane brings to fusion.", 1)
    rerank_depth: int = setting(100, "How many fused results the re-ranker looks at.")
    clusters: int = setting(
        10, "Into how many clusters the re-ranker divides the results; fewer clusters, less diversity.", 1
    )
    cross_encoder: str = setting(
        "cross-encoder/ms-marco-MiniLM-L6-v2",
        "Model of `rerank=cross-encoder`: a name or a folder.",
    )
    cross_encoder_depth: int = setting(30, "How many results the cross-encoder reads.")
    max_query_length: int = setting(100_000, "Longest query, in characters.", 1)
    history: bool = setting(
        True, "Read the git history of projects and folders, as evidence for where a question leads."
    )
    branches: int = setting(
        2, "How many git branches that were left keep their index in a project, so that going back costs little."
    )
    max_k: int = setting(300, "Most results a request may ask for.", 1)
    max_offset: int = setting(10_000, "How far into a list of results a request may page.")
    max_body: int = setting(500_000, "Largest request body, in bytes.")
    map_depth: int = setting(100, "How many results the map draws.")
    cors_origins: str = setting("", "Origins whose pages may read the API, separated by commas; `*` for all.")
    feedback: bool = setting(True, "Whether votes and opened results are stored and move results of the same query.")
    feedback_places: int = setting(3, "Most places that feedback may move a result up or down.")
    eval_results: str = setting("", "Folder of the evaluation's result files; empty: `eval/results` of the project.")
    codesearchnet: str = setting(
        "", "Folder or URL that CodeSearchNet's archives and queries come from; empty: the known mirrors."
    )
    eval_data: str = setting(
        "", "Folder with CodeSearchNet's `queries.csv`: the evaluation's page then shows its questions in words."
    )
    keep_texts: bool = setting(
        True, "Keep the text of indexed files with the index, compressed, so that the pages can show whole files."
    )
    index_secrets: bool = setting(False, "Also index files that hold private keys or tokens.")
    editor: str = setting(
        "vscode://file/{path}:{line}",
        "Address that opens a file of this machine in an editor; `{path}` and `{line}` are filled in; empty: no link.",
    )
    answer_cache: int = setting(128, "Answers that the server caches; 0: none.")
    bind: str = setting("127.0.0.1:8080", "Address and port that `deploy/start.sh` serves on.")
    threads: int = setting(8, "Threads of the HTTP server.", 1)
    git_hosts: str = setting(
        "github.com,gitlab.com,bitbucket.org,codeberg.org",
        "Hosts that a git URL may name, separated by commas; `*` for any.",
    )
    git_pack_mb: int = setting(2_000, "Most megabytes that git may fetch for one source.", 1)
    source_mb: int = setting(4_000, "Most megabytes that an archive or a git repository may unpack to.", 1)
    source_files: int = setting(250_000, "Most files that an archive or a git repository may have.", 1)
    first_source: str = setting("python-env", "What `deploy/start.sh` indexes when there is no index; empty: nothing.")
    start_wait: int = setting(120, "Seconds that `treeline wait` waits for the engine.")
    keys_required: str = setting(
        "writes", "What needs an API key: `writes`, or `all` (reads too).", choices=("writes", "all")
    )
    key_file: str = setting("", "File of the hashed API keys (`treeline keys`); empty: `.keys.json` in the home.")
    trust_loopback: bool = setting(
        True, "Requests from this machine need no key and have no rate limit; switch it off behind a reverse proxy."
    )
    trusted_proxies: int = setting(0, "How many reverse proxies in front are trusted to say the caller's address.")
    rate_per_key: int = setting(1_200, "Requests a minute for one API key; 0: no limit.")
    rate_per_address: int = setting(300, "Requests a minute for one address without a key; 0: no limit.")
    rate_burst: int = setting(60, "How many of those requests may come at once.")
    log_format: str = setting("json", "Log lines as `json` or `text`.", choices=("json", "text"))
    log_level: str = setting(
        "info",
        "Least level that is logged: `debug`, `info`, `warning` or `error`.",
        choices=("debug", "info", "warning", "error"),
    )
    log_queries: bool = setting(False, "Write the query into the access log; queries may be confidential.")
    write_roots: str = setting(
        "",
        "Folders below which the page `/sources` and the API may index repositories, separated by `:`; empty: none. "
        "Without a key only a person at this machine may.",
    )
    write_git: bool = setting(False, "Whether they may also index git URLs of the hosts in `git_hosts`.")
    mcp_roots: str = setting(
        "", "Folders that an agent may index, separated by `:`; empty: the folder `treeline mcp` runs in."
    )
    mcp_tokens: int = setting(2_000, "Longest answer to an agent, in tokens, unless it asks for another length.")
    mcp_search_tokens: int = setting(500, "The same for `search_code`, the tool that agents use most.")
    elasticsearch_shards: int = setting(1, "Shards of a new index; one holds some ten million functions.", 1)

    @property
    def home_path(self) -> Path:
        if self.home:
            return Path(self.home).expanduser()
        from platformdirs import user_data_path

        try:
            return user_data_path("treeline", appauthor=False)
        except RuntimeError as error:
            raise InputError("this user has no home folder", "name one for the index with TREELINE_HOME") from error

    @property
    def cache_path(self) -> Path:
        """The folder for what can be fetched or built again: clones, archives, matrices."""
        return self.home_path / ".cache"

    @property
    def key_path(self) -> Path:
        return Path(self.key_file).expanduser() if self.key_file else self.home_path / ".keys.json"


def from_environment(environment: Mapping[str, str] | None = None) -> Settings:
    """The defaults, overridden by `TREELINE_NAME` variables of the right type."""
    environment = os.environ if environment is None else environment
    _refuse_unknown(environment)
    values: dict[str, Any] = {}
    for row in fields(Settings):
        raw = environment.get(PREFIX + row.name.upper())
        if raw is not None:
            values[row.name] = _parse(row.name, raw, type(row.default), **row.metadata)
    settings = Settings(**values)
    check_name(settings.index)
    _check_methods(settings)
    return settings


def as_environment(settings: Settings) -> dict[str, str]:
    """The variables that give another process these settings, whatever its own environment says."""
    return {PREFIX + row.name.upper(): str(getattr(settings, row.name)) for row in fields(Settings)}


def open_store(settings: Settings) -> Store:
    """The store that the settings name. Only its engine's library is imported, and no cluster is contacted yet."""
    from treeline.engine.durable import close_to_others

    close_to_others(settings.home_path)
    if settings.engine == "embedded":
        from treeline.engine.embedded import EmbeddedStore

        return EmbeddedStore(settings.home_path)
    if settings.engine == "elasticsearch":
        require_extra("elasticsearch")
        from treeline.engine.elasticsearch import ElasticsearchStore

        return ElasticsearchStore(**cluster(settings), shards=settings.elasticsearch_shards)
    raise InputError(f"there is no engine {settings.engine!r}", f"choose one of: {', '.join(ENGINES)}")


def cluster(settings: Settings) -> dict[str, Any]:
    """The addresses and credentials of the Elasticsearch cluster, arguments of `connect` and `ElasticsearchStore`."""
    return {
        "urls": split_commas(settings.elasticsearch_url),
        "user": settings.elasticsearch_user,
        "password": settings.elasticsearch_password,
        "api_key": settings.elasticsearch_api_key,
        "ca": settings.elasticsearch_ca,
    }


def split_commas(value: str) -> list[str]:
    """The parts of a setting that are separated by commas."""
    return [part.strip() for part in value.split(",") if part.strip()]


def _check_methods(settings: Settings) -> None:
    """Refuse unknown methods now, not at the first search. The methods are imported only for values other than the
    defaults."""
    if (settings.rerank, settings.fusion) != ("default", "default"):
        from treeline.rerank.registry import FUSIONS, NAMES

        for name, known in (("rerank", NAMES), ("fusion", FUSIONS)):
            value = getattr(settings, name)
            if value != "default" and value not in known:
                raise InputError(
                    f"{PREFIX}{name.upper()}={value!r} is not known", f"choose from: default, {', '.join(known)}"
                )


def _refuse_unknown(environment: Mapping[str, str]) -> None:
    """Refuse a `TREELINE_` variable that is not a setting: it is probably a typo."""
    known = {row.name.upper() for row in fields(Settings)}
    names = {variable.removeprefix(PREFIX) for variable in environment if variable.startswith(PREFIX)}
    for name in sorted(names - known - OTHERS):
        if KUBERNETES.fullmatch(name):
            continue
        from difflib import get_close_matches

        near = get_close_matches(name, known, 1)
        hint = f"did you mean {PREFIX}{near[0]}?" if near else "unset it; docs/reference/settings.md lists all settings"
        raise InputError(f"there is no setting {PREFIX}{name}", hint)


def _parse(name: str, raw: str, kind: type, *, least: float, choices: tuple[str, ...], **_: str) -> Any:
    if choices:
        if raw.lower() in choices:
            return raw.lower()
        raise InputError(f"{PREFIX}{name.upper()}={raw!r} is not known", f"use {' or '.join(choices)}")
    if kind is bool:
        word = raw.strip().lower()
        if word in {"1", "true", "yes", "on"}:
            return True
        if word in {"0", "false", "no", "off", ""}:
            return False
    else:
        try:
            value = kind(raw)
            if isinstance(value, str) or least <= value <= MOST:
                return value
        except ValueError:
            pass
    numbers = f"number from {least} to {MOST:,}"
    expectation = {bool: "true or false", int: f"a whole {numbers}", float: f"a {numbers}"}.get(kind, "valid")
    raise InputError(f"{PREFIX}{name.upper()}={raw!r} is not {expectation}", "correct or unset it")
