"""The answers about the sources, changes and files of an index."""

from __future__ import annotations

from pydantic import Field

from treeline.service.api.bodies import Body


class SourceBody(Body):
    """A source of an index."""

    name: str
    updatable: bool = Field(description="Whether the settings allow this service to read it again.")


class JobBody(Body):
    """A change of an index, and how far it is."""

    id: str
    action: str
    source: str
    index: str
    state: str = Field(description="`running`, `done`, `failed` or `stopped`.")
    stage: str = Field(description="What it is doing.")
    done: int
    total: int = Field(description="0 if it is not known.")
    message: str
    started: str
    ended: str


class JobsBody(Body):
    """The change that runs, or the last one."""

    job: JobBody | None


class SourcesBody(Body):
    """The sources of an index."""

    index: str
    sources: list[SourceBody]


class RepositoryBody(Body):
    name: str
    units: int = Field(description="How many functions, classes and other parts are indexed.")


class RepositoriesBody(Body):
    """The repositories of an index, the largest first."""

    repositories: list[RepositoryBody]


class EntryBody(Body):
    """A file or folder in a folder. `lines` and `size` are 0 if the index keeps no texts."""

    name: str
    folder: bool
    language: str
    files: int = Field(description="How many files are below it.")
    lines: int
    size: int = Field(description="In bytes.")


class OutlineBody(Body):
    """A definition in a file."""

    id: str
    name: str
    kind: str
    lines: list[int] = Field(description="First and last line.")
    depth: int = Field(description="0 at the top of the file.")


class DefinitionBody(Body):
    """The definition of a name that is used in some lines of the file."""

    name: str
    lines: list[int] = Field(description="First and last line of the part of the file that uses it.")
    repo: str
    path: str
    line: int


class FileBody(Body):
    """A file or a folder. A folder has `entries`; a file has the rest."""

    repo: str
    path: str
    folder: bool
    entries: list[EntryBody] = Field(default_factory=list)
    language: str = ""
    size: int = Field(default=0, description="In bytes.")
    lines: int = 0
    encoding: str = Field(default="", description="`binary` for a file that is no text.")
    text: str | None = Field(default=None, description="null if the index keeps no texts, or the file is binary.")
    outline: list[OutlineBody] = Field(default_factory=list)
    definitions: list[DefinitionBody] = Field(default_factory=list)
