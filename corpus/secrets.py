"""Says whether a file holds a private key or a token, by its name and by its content.

Code that parses PEM files or looks for the prefixes of tokens holds none: a key or token counts only with its body. In
code and documents, where examples are common, the body also has to look random; in configuration it only must not be
an obvious placeholder.
"""

from __future__ import annotations

import re

NAMES = re.compile(
    r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[_-][\w-]+|\.(?:bak|old|orig|backup|key|pem|txt))?"
    r"|(?:[\w.-]*[._-])?deploy[_-]key(?:\.(?:key|pem|txt))?|.*\.(?:ppk|p12|pfx|jks|keystore|kdbx)"
    r"|credentials|\.?git-credentials|[._]?netrc|\.?htpasswd|\.?pgpass|\.dockercfg|.*\.?kubeconfig(?:\.ya?ml)?"
    r"|\.envrc|.*\.env|\.env\..*|.*\.tfstate(?:\.backup)?|.*\.tfvars(?:\.json)?"
    r"|service[_-]?account.*\.json|client_secret.*\.json|secrets\.(?:ya?ml|json|toml)"
)
ENDINGS = ("/.cargo/credentials.toml", "/.config/gh/hosts.yml", "/.docker/config.json", "/.kube/config")
# A file that shows what the real one looks like, and a chart's template of it.
EXAMPLE_NAME = re.compile(r"(?:^|[._-])(?:example|sample|template|tmpl|dist|defaults?|schema)s?(?:[._-]|$)")
TEMPLATES = re.compile(r"(?:^|/)templates/secrets\.ya?ml$")
NPMRC = re.compile(rb"_(?:authToken|auth|password)\s*=\s*[^\s$\"]")
PYPIRC = re.compile(rb"^\s*password\s*[=:]\s*[^\s$<]", re.MULTILINE)
ACCOUNT = re.compile(rb'"type"\s*:\s*"service_account"')

PRIVATE_KEY = re.compile(rb"PRIVATE KEY(?: BLOCK)?-----")
BEGIN = b"-----BEGIN "
# Between the lines of a key: white space, escapes, and what a string in code is put together with.
SEPARATORS = re.compile(rb"\\[nr]|[\s\"'`+,\\()]|^[\w-]+:[^\n\\]*(?:\\n)?$", re.MULTILINE)
BODY = re.compile(rb"[\w/+]{24,}=*")
# The group is the body. Each expression begins with a literal, so that it is searched for at the speed of memory.
TOKENS = (
    re.compile(rb"AKIA(?<![\w/+]AKIA)([0-9A-Z]{16})(?![\w/+])"),  # AWS
    re.compile(rb"AIza(?<![\w/+]AIza)([\w-]{35})(?![\w/+-])"),  # Google
    re.compile(rb"glpat-([\w-]{20})"),
    re.compile(rb"pypi-AgEI([\w-]{50})"),
    re.compile(rb"xox[abeoprs]-(?<![\w/+]xox.-)([\w-]{20})"),  # Slack
    re.compile(
        # GitHub, npm, Hugging Face, Stripe
        rb"_(?=[a-zA-Z0-9]{22})(?:(?:(?<=gh[opsru]_)|(?<=npm_))([^\W_]{36})|(?<=hf_)([a-zA-Z]{34})(?!\w)"
        rb"|(?<=[rs]k_live_)([^\W_]{24})|(?<=github_pat_)(\w{40}))"
    ),
    re.compile(rb"sk-ant-([\w-]{40})"),  # Anthropic
    re.compile(rb"T3BlbkFJ([\w-]{20})"),  # OpenAI
    re.compile(rb"LS0tLS1CRUdJTi\w{1,8}(?:UFJJVkFURSBLRVk|QUklWQVRFIEtFWS)([\w/+]{40})"),  # a key in base64
)
PLACEHOLDER = re.compile(rb"(?i)example|placeholder|redacted|your|(.)\1{5}")
IN_EXAMPLES = re.compile(rb"(?i)sample|test|fake|dummy|secret|token|abcd|1234|4321|(.)\1{3}")
RANDOM = 14  # different characters in a random body; 16 of 36 have 13 in the mean
CONFIGURATION = frozenset(("", *"toml ini properties yaml json xml text hcl dockerfile".split()))


def is_secret_name(path: str) -> bool:
    """Whether files of this name hold secrets, whatever is in them."""
    path = f"/{path}".lower()
    name = path[path.rindex("/") + 1 :]
    if NAMES.fullmatch(name):
        return not EXAMPLE_NAME.search(name) and not name.endswith(".pub") and not TEMPLATES.search(path)
    return path.endswith(ENDINGS)


def has_secret(path: str, content: bytes, language: str = "") -> bool:
    """Whether a file of this language ('' if unknown) holds a secret by its content."""
    strict = language not in CONFIGURATION
    name = path.rpartition("/")[2]
    if (name == ".npmrc" and NPMRC.search(content)) or (name == ".pypirc" and PYPIRC.search(content)):
        return True
    if language == "json" and ACCOUNT.search(content) and b'"private_key"' in content:
        return True
    if any(_has_body(content, match.end(), strict) for match in PRIVATE_KEY.finditer(content)):
        return True
    return any(_is_live(match[match.lastindex or 0], strict) for rule in TOKENS for match in rule.finditer(content))


def _has_body(content: bytes, end: int, strict: bool) -> bool:
    """Whether the lines after the header of a private key are one."""
    if BEGIN not in content[max(0, end - 60) : end]:
        return False
    body = BODY.match(SEPARATORS.sub(b"", content[end : end + 600].partition(b"-----")[0]))
    return body is not None and (not strict or (len(body[0]) >= 60 and len(set(body[0])) > RANDOM))


def _is_live(body: bytes, strict: bool) -> bool:
    """Whether the body of a token is no placeholder."""
    if PLACEHOLDER.search(body):
        return False
    return not strict or (len(set(body)) > RANDOM * min(1.0, len(body) / 24) and not IN_EXAMPLES.search(body))
