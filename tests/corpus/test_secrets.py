"""Which files hold secrets. The keys and tokens here are random, and put together while the tests run."""

import base64
import random

import pytest

from treeline.corpus.secrets import has_secret, is_secret_name

RANDOM = random.Random(38)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
PLANTED = """
id_rsa keys/id_ed25519 deploy_key ops/github_deploy_key putty.ppk credentials aws/credentials .cargo/credentials.toml
.cargo/credentials .config/gh/hosts.yml .docker/config.json .envrc .env .env.local
prod.env config/secrets.yml
service-account.json service-account-prod.json terraform.tfstate prod.tfvars kubeconfig .kube/config netrc .netrc
htpasswd .htpasswd .git-credentials release.keystore debug.jks cert.p12 cert.pfx id_rsa.bak""".split()
HARMLESS = """
id_rsa.pub keys.py id_rsa_parser.py .env.example .env.sample .env.template example.env deploy_key.pub
credentials.py credentials/provider.go config.json config/hosts.yml docker/config.json environment.py secrets.py
templates/secrets.yaml terraform.tfvars.example netrc.py kube/config.go tfstate.go process.env.ts vite-env.d.ts
""".split()


def random_text(length: int, letters: str = LETTERS) -> str:
    return "".join(RANDOM.choices(letters, k=length))


def private_key(kind: str = "RSA ", lines: int = 8, end: str = "\n") -> str:
    body = end.join(random_text(64) for _ in range(lines))
    return f"-----BEGIN {kind}PRIVATE KEY-----{end}{body}{end}-----END {kind}PRIVATE KEY-----{end}"


TOKENS = {
    "AWS": "AKIA" + random_text(16, LETTERS[:26]),
    "GitHub": "ghp_" + random_text(36),
    "GitHub app": "ghs_" + random_text(36),
    "GitHub, fine-grained": f"github_pat_{random_text(22)}_{random_text(59)}",
    "GitLab": "glpat-" + random_text(20),
    "Slack": f"xoxb-{RANDOM.randrange(10**11, 10**12)}-{random_text(24)}",
    "Stripe": "sk_live_" + random_text(24),
    "npm": "npm_" + random_text(36),
    "PyPI": "pypi-AgEI" + random_text(120),
    "Google": "AIza" + random_text(35),
}


@pytest.mark.parametrize("path", PLANTED)
def test_a_name_that_only_secrets_have(path: str) -> None:
    assert is_secret_name(path)
    assert is_secret_name(f"deep/er/{path}")


@pytest.mark.parametrize("path", HARMLESS)
def test_a_name_that_others_have_too(path: str) -> None:
    assert not is_secret_name(path)


@pytest.mark.parametrize("language", ["python", "markdown", "yaml", "text", ""])
@pytest.mark.parametrize(
    "key",
    [
        private_key(),
        private_key("OPENSSH "),
        private_key("EC ", 3),
        private_key("", 1),
        private_key(end="\r\n"),
        private_key(end="\\n"),
        private_key(end='\\n"\n    "'),
        private_key("ENCRYPTED "),
        private_key().replace("KEY-----", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0102\n", 1),
        private_key("PGP ").replace("PRIVATE KEY", "PRIVATE KEY BLOCK"),
        base64.b64encode(private_key().encode()).decode(),
    ],
    ids="rsa openssh ec short crlf json string encrypted headers pgp base64".split(),
)
def test_a_private_key_in_any_file(key: str, language: str) -> None:
    assert has_secret("file", f"before\nkey = '{key}'\nafter\n".encode(), language)


@pytest.mark.parametrize("language", ["python", "json"])
@pytest.mark.parametrize("name", TOKENS)
def test_a_token_in_any_file(name: str, language: str) -> None:
    assert has_secret("file", f'{{"token": "{TOKENS[name]}"}}\n'.encode(), language)


def test_an_account_and_settings_with_a_password() -> None:
    assert has_secret("gcp.json", b'{"type": "service_account", "private_key": "short"}', "json")
    assert has_secret(".npmrc", b"//registry.example.org/:_authToken=0a1b2c\n", "text")
    assert not has_secret(".npmrc", b"//registry.example.org/:_authToken=${NPM_TOKEN}\nsave-exact=true\n", "text")
    assert has_secret(".pypirc", b"[pypi]\nusername = me\npassword = 0a1b2c\n", "text")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ('BEGIN = "-----BEGIN PRIVATE KEY-----"\nEND = "-----END PRIVATE KEY-----"\n', "python"),
        ("if pem.startswith(b'-----BEGIN RSA PRIVATE KEY-----'):\n    return load(pem)\n" * 3, "python"),
        ("const key = `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----`\n", "javascript"),
        ("-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n", "markdown"),
        ("-----BEGIN RSA PRIVATE KEY-----\n" + "A" * 64 + "\n", "markdown"),
        (f"-----BEGIN CERTIFICATE-----\n{random_text(64)}\n-----END CERTIFICATE-----\n", "text"),
        (f"-----BEGIN PUBLIC KEY-----\n{random_text(64)}\n", "text"),
        ("export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\n", "text"),
        ("GITHUB_TOKEN: ghp_" + "x" * 36, "yaml"),
        ('re.compile(r"ghp_[A-Za-z0-9]{36}|AKIA[0-9A-Z]{16}")', "python"),
        ("token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'", "python"),
        ("token = 'glpat-0123456789abcdefghij'", "markdown"),
        (f"def hf_{'transformers_are_here_and_long_' * 3}(): pass", "python"),
        (random_text(5_000), "text"),
    ],
    ids=range(14),
)
def test_code_and_documents_about_keys_hold_none(text: str, language: str) -> None:
    assert not has_secret("file", text.encode(), language)


def test_a_placeholder_is_no_token_but_a_simple_token_in_configuration_is_one() -> None:
    simple = b"token: ghp_abcdefghijklmnopqrstuvwxyz0123456789\n"
    assert has_secret("deploy.yml", simple, "yaml")
    assert not has_secret("readme.md", simple, "markdown")


def test_hostile_files_take_no_longer_than_others() -> None:
    for text in (b"PRIVATE KEY-----", b"-----BEGIN PRIVATE KEY-----", b"_aaaaaaaaaaaaaaaaaaaaaaaa", b"AKIA", b"xoxb-"):
        assert not has_secret("a.py", text * (2_000_000 // len(text)), "python")
    assert not is_secret_name("a-" * 2_000 + "/" + "-" * 200)
