"""Small functions for the encoder's tests."""

from treeline.corpus.function import Function


def function(
    name: str, docstring: str = "", code: str = "", repo: str = "me/mine", partition: str = "train"
) -> Function:
    """A made-up Python function."""
    body = code or f"def {name.rpartition('.')[2]}(): pass"
    return Function(
        repo=repo,
        path="package/module.py",
        func_name=name,
        original_string=body,
        language="python",
        code=body,
        code_tokens=(),
        docstring=docstring,
        docstring_tokens=(),
        sha="",
        partition=partition,
        url="",
    )


FUNCTIONS = [
    function(
        "read_csv",
        "Read a CSV file into a list of rows.",
        "def read_csv(path):\n    return list(csv.reader(open(path)))",
    ),
    function(
        "send_mail",
        "Send an e-mail message.",
        "def send_mail(to, text):\n    smtplib.SMTP('localhost').sendmail(to, text)",
    ),
    function(
        "sort_by_key",
        "Sort dictionaries by a key.",
        "def sort_by_key(rows, key):\n    return sorted(rows, key=itemgetter(key))",
    ),
    function(
        "sha256",
        "Hash of a file's bytes.",
        "def sha256(path):\n    return hashlib.sha256(open(path, 'rb').read()).hexdigest()",
    ),
    function("backoff", "Retry a call, waiting longer each time.", "def backoff(call):\n    time.sleep(2 ** attempt)"),
    function(
        "resize", "Scale an image to a width.", "def resize(image, width):\n    return image.resize((width, height))"
    ),
]
