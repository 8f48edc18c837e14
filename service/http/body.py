"""What is wrong with a request's body, in words for who sent it."""

from __future__ import annotations

from typing import Any

from flask import Request
from werkzeug.exceptions import BadRequest, RequestEntityTooLarge


class RequestWithBody(Request):
    """A request whose JSON, where it cannot be read, is refused for what is the matter with it."""

    def on_json_loading_failed(self, e: ValueError | None) -> Any:
        if e is None:  # it does not say that it is JSON
            return super().on_json_loading_failed(e)
        # A body that does not say its length is cut off at the limit instead of being refused there.
        if self.content_length is None and len(self.get_data()) >= (self.max_content_length or 0):
            raise RequestEntityTooLarge from e
        raise BadRequest("The body is not valid JSON.") from e
