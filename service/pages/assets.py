"""Static files, and Plotly from its package. URLs contain a digest, so browsers can cache them for good."""

from __future__ import annotations

import gzip
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from apiflask import APIBlueprint
from flask import Response, current_app, request

blueprint = APIBlueprint("assets", __name__, enable_openapi=False)

FOREVER = "public, max-age=31536000, immutable"
STATIC = Path(__file__).parent.parent / "static"


@cache
def plotly() -> bytes:
    """Plotly's script, compressed once per process."""
    script = files("plotly").joinpath("package_data/plotly.min.js").read_bytes()
    return gzip.compress(script, compresslevel=6, mtime=0)


@blueprint.get("/assets/plotly.js")
def plotly_script() -> Response:
    compressed_script = plotly()
    if request.accept_encodings["gzip"] > 0:
        response = Response(compressed_script, mimetype="text/javascript", headers={"Content-Encoding": "gzip"})
    else:
        response = Response(
            gzip.decompress(compressed_script), mimetype="text/javascript", headers={"Content-Encoding": "identity"}
        )
    response.headers["Cache-Control"] = FOREVER
    response.vary.add("Accept-Encoding")
    return response


@blueprint.get("/favicon.ico")
def favicon() -> Response:
    return current_app.send_static_file("favicon.svg")


@cache
def plotly_digest() -> str:
    """A digest of the package's version, so that the script is only read when requested."""
    return version("plotly")


@cache
def digest(name: str) -> str:
    return blake2b((STATIC / name).read_bytes(), digest_size=6).hexdigest()


def asset(name: str) -> str:
    """The URL of a static file, with its digest. `url_for` fails for a malformed `Host`, whose error page needs it."""
    return f"{request.script_root}{current_app.static_url_path}/{name}?v={digest(name)}"


@blueprint.app_context_processor
def helpers() -> dict[str, object]:
    return {"asset": asset, "plotly_digest": plotly_digest()}


@blueprint.after_app_request
def keep(response: Response) -> Response:
    if request.endpoint == "static" and "v" in request.args and response.status_code == 200:
        response.headers["Cache-Control"] = FOREVER
    return response
