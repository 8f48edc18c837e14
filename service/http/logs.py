"""Log lines as JSON, one object a line, with the request's id and with secrets masked."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable
from contextvars import ContextVar
from datetime import UTC, datetime

import orjson

from treeline.search.settings import Settings

MASK = "[hidden]"
# The Elasticsearch client logs each retry with a traceback: a hundred lines a second while a node is down. The outcome
# is in the answer, the metrics and our own lines.
CLIENT_LEVEL = "ERROR"
# Anything like a credential: our keys, Authorization headers, user:password in a URL.
CREDENTIALS = re.compile(
    r"tl_[0-9a-f]{8}_[A-Za-z0-9_-]{20,}"
    r"|(?i:(?<=bearer )|(?<=basic )|(?<=apikey ))[A-Za-z0-9+/=._~-]{8,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
request_id: ContextVar[str] = ContextVar("request_id", default="")


class Redactor:
    """Masks the secrets of the settings and anything like a credential."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = [re.escape(secret) for secret in secrets if secret]
        self._known = re.compile("|".join(known)) if known else None

    def __call__(self, text: str) -> str:
        if self._known:
            text = self._known.sub(MASK, text)
        return CREDENTIALS.sub(MASK, text)


class JsonFormatter(logging.Formatter):
    """One JSON object: time, level, logger, message, request id, and the fields given as `extra={"fields": …}`."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if identity := request_id.get():
            line["request_id"] = identity
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        text = orjson.dumps(_printable(line), default=str).decode()
        return self._redact(text)


class TextFormatter(logging.Formatter):
    """The same as text for a terminal."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={value}" for name, value in getattr(record, "fields", {}).items())
        return self._redact(f"{super().format(record)} {fields}".rstrip())


def formatter(settings: Settings) -> logging.Formatter:
    redact = Redactor((settings.elasticsearch_password, settings.elasticsearch_api_key))
    return JsonFormatter(redact) if settings.log_format == "json" else TextFormatter(redact)


def configure(settings: Settings) -> None:
    """Send every log line of this process through the formatter to stderr; for servers, not for libraries."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(settings))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    logging.getLogger("elastic_transport").setLevel(CLIENT_LEVEL)


def _printable(value: object) -> object:
    """The text without lone surrogates, which JSON cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_printable(key): _printable(each) for key, each in value.items()}
    return value
