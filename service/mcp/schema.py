"""JSON schemas of a tool's arguments and answer from its type hints, and the check of what an agent sends.

pydantic does the same after a fifth of a second of processor time; an agent starts the server for each conversation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from treeline.corpus.errors import InputError

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
WORDS = {"true": True, "false": False}
LONGEST = 40  # characters of a wrong value that are shown


class About(NamedTuple):
    """A description of an argument for agents, and the bounds of a number."""

    description: str
    least: int | None = None
    most: int | None = None


class Argument(NamedTuple):
    """An argument of a tool."""

    name: str
    hint: Any
    about: About
    default: Any

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def schema(self) -> dict[str, Any]:
        about, default = self.about, None if self.is_required else self.default
        optional = {"minimum": about.least, "maximum": about.most, "default": default, "description": about.description}
        return schema_of(self.hint) | {name: one for name, one in optional.items() if one not in (None, "")}

    def check(self, value: Any) -> Any:
        """The value that an agent sends, or the default; agents also send numbers as text, and null for nothing."""
        if value is None and not self.is_required:
            return self.default
        if get_origin(self.hint) is Literal:
            choices = get_args(self.hint)
            if value not in choices:
                self._refuse(f"must be {' or '.join(map(repr, choices))}", value)
            return value
        if self.hint is bool and isinstance(value, str):
            value = WORDS.get(value.lower(), value)
        if self.hint is int and isinstance(value, str | float) and not isinstance(value, bool):
            value = _whole(value)
        if type(value) is not self.hint:
            self._refuse(f"must be of type {TYPES[self.hint]}", value)
        least, most = self.about.least, self.about.most
        if (least is not None and value < least) or (most is not None and value > most):
            self._refuse(f"must be between {least:,} and {most:,}" if most else f"must be {least} or more", value)
        return value

    def _refuse(self, why: str, value: Any) -> None:
        raise InputError(f"{self.name} {why}, not {repr(value)[:LONGEST]}")


def _whole(value: str | float) -> Any:
    try:
        return int(value) if int(value) == float(value) else value
    except (ValueError, OverflowError):
        return value


def arguments_of(function: Callable[..., Any]) -> dict[str, Argument]:
    """The arguments of a function, whose hints are `Annotated[type, About(…)]` or a plain type."""
    hints = get_type_hints(function, include_extras=True)
    arguments = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        about = next((one for one in get_args(hint)[1:] if isinstance(one, About)), About(""))
        bare = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        arguments[name] = Argument(name, bare, about, parameter.default)
    return arguments


def input_schema(arguments: Mapping[str, Argument]) -> dict[str, Any]:
    properties = {name: argument.schema for name, argument in arguments.items()}
    needs = [name for name, argument in arguments.items() if argument.is_required]
    return {"type": "object", "properties": properties} | ({"required": needs} if needs else {})


def schema_of(hint: Any) -> dict[str, Any]:
    """The JSON schema of a type hint: plain types, `Literal`, lists, unions, and typed dictionaries."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in TYPES:
        return {"type": TYPES[hint]}
    if origin in (Annotated, NotRequired):
        return schema_of(args[0])
    if origin is Literal:
        return {"enum": list(args), "type": "string"}
    if origin is list:
        return {"type": "array", "items": schema_of(args[0])}
    if origin is UnionType:
        return {"type": [TYPES[one] for one in args]}
    assert is_typeddict(hint), hint
    fields = get_type_hints(hint, include_extras=True)
    return {
        "type": "object",
        "properties": {name: schema_of(one) for name, one in fields.items()},
        "required": [name for name, one in fields.items() if get_origin(one) is not NotRequired],
    }
