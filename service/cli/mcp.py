"""`treeline mcp`: serve the index to a coding agent over standard input and output."""

from __future__ import annotations

from dataclasses import replace

import click

from treeline.service.cli.options import settings_for, where


@click.command("mcp")
@where
@click.option("--root", "roots", multiple=True, help="Folder that may be indexed; several times for several.")
def command(engine: str | None, name: str, roots: tuple[str, ...]) -> None:
    """Serve search to a coding agent (Model Context Protocol, stdio)."""
    import os

    from treeline.service.http import logs
    from treeline.service.mcp.server import create_server

    settings = settings_for(engine, name)
    settings = replace(
        settings,
        mcp_roots=os.pathsep.join(roots) or settings.mcp_roots,
        log_level="warning",
    )
    logs.configure(settings)
    create_server(settings).run("stdio")
