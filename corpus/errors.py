"""Errors for the user: what was wrong, and what to do about it."""

from importlib.util import find_spec

NO_THREADS = ("the system starts no more threads", "raise the limit with `ulimit -u`, or end other programs")


class TreelineError(Exception):
    """A failure that the user can act on; the command line exits with `exit_code`."""

    exit_code = 1
    code = "failure"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class DiskFailure(TreelineError):
    """The disk takes nothing: it is full, read-only, or somebody else's."""


class DiskFull(DiskFailure):
    """The disk is full."""


class InputError(TreelineError):
    """The input was bad: a path, an option, a query, a file."""

    exit_code = 2
    code = "bad_input"


class IndexMissing(InputError):
    """There is no index of that name."""

    code = "index_missing"


REBUILD = "rebuild it with `treeline index SOURCE… --fresh`; `treeline status` names its sources"


class IndexOutdated(InputError):
    """The index was written by another version of Treeline, in a format that this one does not read."""

    code = "index_outdated"

    def __init__(self, where: str, version: int, read: int) -> None:
        super().__init__(
            f"{where} was written by another version of Treeline (format {version}, this one reads {read})", REBUILD
        )


class IndexDamaged(TreelineError):
    """A file of the index is missing or damaged."""

    code = "index_damaged"

    def __init__(self, where: str, file: str) -> None:
        super().__init__(f"the index in {where} is damaged: {file}", REBUILD)
        self.file = file


class EncoderMismatch(InputError):
    """The index was made with another encoder than the requested one."""

    code = "encoder_mismatch"


class EngineUnavailable(TreelineError):
    """The engine cannot be reached or does not answer in time."""

    code = "engine_unavailable"


class ReaderFailure(EngineUnavailable):
    """The model that reads results with the question failed while it read."""


class CredentialsError(EngineUnavailable):
    """The engine rejects our credentials; retrying does not help."""


# The extra that installs each module, as declared in `pyproject.toml`.
EXTRAS = {
    module: extra
    for extra, modules in {
        "serve": "apiflask flask limits prometheus_client waitress werkzeug",
        "elasticsearch": "elastic_transport elasticsearch urllib3",
        "transformers": "geoopt huggingface_hub sentence_transformers tokenizers torch transformers",
        "eval": "ir_measures plotly",
        "lsp": "lsprotocol pygls",
        "deep": "onnxruntime treeline_models",
        "parquet": "pyarrow",
    }.items()
    for module in modules.split()
}


class ExtraMissing(InputError):
    """An optional dependency is needed and not installed."""

    code = "extra_missing"

    def __init__(self, module: str, needed_by: str = "this") -> None:
        hint = f"pip install '.[{EXTRAS[module]}]' in Treeline's checkout"
        super().__init__(f"{needed_by} needs {module}, which is not installed", hint)


def require_extra(extra: str) -> None:
    """Raise `ExtraMissing` unless every module of the extra is installed; none is imported."""
    for module, owner in EXTRAS.items():
        if owner == extra and find_spec(module) is None:
            raise ExtraMissing(module)


def missing_extra(error: ModuleNotFoundError) -> ExtraMissing | None:
    """The error for a failed import of an optional dependency; None for any other module."""
    module = (error.name or "").partition(".")[0]
    return ExtraMissing(module) if module in EXTRAS else None
