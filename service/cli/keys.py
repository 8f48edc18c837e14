"""The command `keys`: API keys of the HTTP service."""

from __future__ import annotations

import json
from typing import cast

import click

from treeline.search.settings import from_environment
from treeline.service.cli.options import not_empty
from treeline.service.http.keys import SCOPES, KeyRing, Scope


@click.group("keys")
def keys() -> None:
    """Make, list and revoke API keys of the HTTP service."""


@keys.command()
@click.argument("name", callback=not_empty)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    default=["read"],
    show_default=True,
    help="read: search; write: also give feedback.",
)
def create(name: str, scopes: tuple[str, ...]) -> None:
    """Make a key called NAME and print it; it is not shown again."""
    ring = _ring()
    click.echo(ring.create(name, cast(tuple[Scope, ...], scopes)))
    click.echo(f"Keep it: only its hash is stored, in {ring.path}. Send it as `Authorization: Bearer KEY`.", err=True)


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON, and nothing else on stdout.")
def list_(as_json: bool) -> None:
    """Show the keys, without their secrets."""
    keys = _ring().all()
    if as_json:
        rows = [{"id": k.id, "name": k.name, "scopes": k.scopes, "created": k.created} for k in keys]
        click.echo(json.dumps(rows))
        return
    for key in keys:
        click.echo(f"{key.id}  {'+'.join(key.scopes):<10}  {key.created}  {key.name}")
    if not keys:
        click.echo("No keys yet: `treeline keys create NAME --scope write` makes one.", err=True)


@keys.command()
@click.argument("key_id")
def revoke(key_id: str) -> None:
    """Revoke the key with this id, effective at once."""
    key = _ring().revoke(key_id)
    click.echo(f"Revoked {key.id} ({key.name}).")


def _ring() -> KeyRing:
    return KeyRing(from_environment().key_path)
