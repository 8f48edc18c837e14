"""API keys: shown once, stored as a hash, compared in constant time."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.search.settings import Settings

Scope = Literal["read", "write"]
SCOPES: tuple[Scope, ...] = ("read", "write")
SECRET_BYTES = 32  # 256 random bits cannot be guessed, so a fast hash is enough
KEY = re.compile(r"^tl_(?P<id>[0-9a-f]{8})_(?P<secret>[A-Za-z0-9_-]{43})$")
NOBODY = hashlib.sha256(b"").hexdigest()


@frozen
class ApiKey:
    """A key as stored: everything but its secret."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    digest: str
    created: str

    def allows(self, scope: Scope) -> bool:
        """Whether the key has the scope; `write` includes `read`."""
        return scope in self.scopes or "write" in self.scopes


KEYS = TypeAdapter(list[ApiKey])


class KeyFileDamaged(InputError):
    """The key file is damaged: no key can be checked. Callers without a key are still served."""

    code = "keys_unreadable"


class KeyRing:
    """The keys of one file, reloaded when another process changes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._keys: dict[str, ApiKey] = {}

    def all(self) -> list[ApiKey]:
        self._refresh()
        return list(self._keys.values())

    def create(self, name: str, scopes: Iterable[Scope]) -> str:
        """Add a key and return it; it cannot be shown again."""
        granted_scopes = tuple(sorted(set(scopes)))
        if unknown := set(granted_scopes) - set(SCOPES):
            raise InputError(f"unknown scope {', '.join(sorted(unknown))}", f"scopes are {' and '.join(SCOPES)}")
        if not granted_scopes:
            raise InputError("a key needs a scope", "--scope read or --scope write")
        key_id, secret = secrets.token_hex(4), secrets.token_urlsafe(SECRET_BYTES)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._alone():
            self._save({**self._keys, key_id: ApiKey(key_id, name, granted_scopes, _digest(secret), now)})
        return f"tl_{key_id}_{secret}"

    def revoke(self, key_id: str) -> ApiKey:
        with self._alone():
            if key_id not in self._keys:
                raise InputError(f"no key with id {key_id!r} in {self.path}", "`treeline keys list` shows them")
            revoked_key = self._keys[key_id]
            self._save({each: key for each, key in self._keys.items() if each != key_id})
        return revoked_key

    def check(self, text: str) -> ApiKey | None:
        """The presented key if it is valid; an unknown id takes as long as a wrong secret."""
        self._refresh()
        parts = KEY.match(text)
        key = self._keys.get(parts["id"]) if parts else None
        stored_digest = key.digest if key else NOBODY
        secret = parts["secret"] if parts else text
        return key if hmac.compare_digest(_digest(secret), stored_digest) and key else None

    def _refresh(self) -> None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._keys = None, {}
            return
        except OSError as error:
            raise KeyFileDamaged(f"the keys cannot be read: {error}", "check the file's permissions") from error
        stamp = (status.st_mtime_ns, status.st_ino)
        if stamp == self._stamp:
            return
        try:
            self._keys = {key.id: key for key in KEYS.validate_json(self.path.read_bytes())}
        except (OSError, ValueError) as error:
            raise KeyFileDamaged(
                f"{self.path} is not a key file: {str(error).splitlines()[0]}",
                "restore it, or remove it and make new keys",
            ) from error
        self._stamp = stamp

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The current keys, under a lock, so that of two changes at once both are kept."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # A lock file of its own, because every change replaces the key file.
        with self.path.with_name(f"{self.path.name}.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._refresh()
            yield

    def _save(self, keys: dict[str, ApiKey]) -> None:
        """Replace the file atomically; only its owner may read it."""
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump([asdict(key) for key in keys.values()], file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)
        self._refresh()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def no_key_yet(settings: Settings) -> str:
    """The warning for a service that requires keys and has none; a key may be made while it runs."""
    try:
        if settings.keys_required != "all" or KeyRing(settings.key_path).all():
            return ""
    except KeyFileDamaged as error:
        return f"no API key is accepted: {error}"
    callers = "only a person at this machine is" if settings.trust_loopback else "nobody is"
    return (
        f"TREELINE_KEYS_REQUIRED=all, and there is no key in {settings.key_path}: {callers} answered; "
        "make one with: treeline keys create NAME"
    )
