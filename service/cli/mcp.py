"""`treeline mcp`: serve the index to a coding agent over standard input and output."""

from __future__ import annotations

from dataclasses import replace

import click

from service.settings import from_environment


@click.command("mcp")
@click.option("--name", default="", help="Index to search; the setting `index` when not given.")
@click.option("--root", "roots", multiple=True, help="Folder that may be indexed; several times for several.")
def command(name: str, roots: tuple[str, ...]) -> None:
    """Serve search to a coding agent (Model Context Protocol, stdio)."""
    import os

    from service import logs
    from service.mcp_server import create_server

    settings = from_environment()
    settings = replace(
        settings,
        index=name or settings.index,
        mcp_roots=os.pathsep.join(roots) or settings.mcp_roots,
        log_level="warning",
    )
    logs.configure(settings)
    create_server(settings).run("stdio")
