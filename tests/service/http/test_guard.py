"""A person at the machine is served at once; everybody else needs a key to write, and a pause when too quick."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from limits import strategies
from limits.storage import memory

from treeline.corpus.errors import InputError
from treeline.search.settings import Settings
from treeline.service.http import errors, guard, observe
from treeline.service.http.keys import KeyRing

FAR = {"REMOTE_ADDR": "203.0.113.9"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=str(tmp_path))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands still: on a busy machine a window would pass between two requests."""
    for module in (memory, strategies, guard):
        monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: 1000.0))


def client(settings: Settings) -> FlaskClient:
    app = APIFlask(__name__)
    errors.init_app(app)
    observe.init_app(app, settings)
    guard.init_app(app, settings)

    @app.get("/api/search")
    def search() -> dict[str, bool]:
        return {"may_vote": guard.may_vote()}

    @app.post("/api/feedback")
    def feedback() -> dict[str, bool]:
        return {"stored": True}

    @app.get("/healthz")
    def healthz() -> dict[str, bool]:
        return {"alive": True}

    return app.test_client()


def test_a_local_user_writes_without_a_key_and_without_a_limit(settings: Settings) -> None:
    local = client(replace(settings, rate_per_address=1, rate_burst=1))
    assert [local.post("/api/feedback").status_code for _ in range(5)] == [200] * 5


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.9"},
        {"Host": "rebound.example"},
        {"Origin": "https://elsewhere.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=["proxy", "DNS rebinding", "another site's page", "cross-site request"],
)
def test_what_only_looks_local_needs_a_key_to_write(settings: Settings, headers: dict[str, str]) -> None:
    assert client(settings).post("/api/feedback", headers=headers).status_code == 401


def test_behind_a_proxy_loopback_is_not_trusted_when_told_so(settings: Settings) -> None:
    assert client(replace(settings, trust_loopback=False)).post("/api/feedback").status_code == 401


def test_a_stranger_reads_freely_by_default_but_needs_a_key_to_write(settings: Settings) -> None:
    far = client(settings)
    assert far.get("/api/search", environ_base=FAR).json == {"may_vote": True}
    refused = far.post("/api/feedback", environ_base=FAR)
    assert refused.status_code == 401
    assert refused.json and refused.json["error"]["code"] == "key_required"
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")


def test_reads_need_a_key_when_the_setting_says_so_but_probes_never_do(settings: Settings) -> None:
    far = client(replace(settings, keys_required="all"))
    assert far.get("/api/search", environ_base=FAR).status_code == 401
    assert far.get("/metrics", environ_base=FAR).status_code == 401
    assert far.get("/healthz", environ_base=FAR).status_code == 200


@pytest.mark.parametrize("style", ["Authorization", "X-API-Key"])
def test_a_key_opens_what_its_scope_covers(settings: Settings, style: str) -> None:
    far = client(replace(settings, keys_required="all"))
    ring = KeyRing(settings.key_path)

    def headers(key: str) -> dict[str, str]:
        return {style: f"Bearer {key}" if style == "Authorization" else key}

    reader, writer = headers(ring.create("reader", ["read"])), headers(ring.create("writer", ["write"]))
    assert far.get("/api/search", environ_base=FAR, headers=reader).status_code == 200
    assert far.post("/api/feedback", environ_base=FAR, headers=reader).status_code == 403
    assert far.post("/api/feedback", environ_base=FAR, headers=writer).status_code == 200


def test_a_wrong_key_is_refused_even_from_this_machine(settings: Settings) -> None:
    wrong = client(settings).get("/api/search", headers={"X-API-Key": "tl_00000000_" + "x" * 43})
    assert wrong.status_code == 401


def test_a_key_in_the_address_is_not_taken(settings: Settings) -> None:
    key = KeyRing(settings.key_path).create("writer", ["write"])
    assert client(settings).post(f"/api/feedback?api_key={key}", environ_base=FAR).status_code == 401


def test_too_many_requests_are_told_when_to_come_back(settings: Settings) -> None:
    far = client(replace(settings, rate_per_address=60, rate_burst=3))
    answers = [far.get("/api/search", environ_base=FAR) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 4  # the window is 3 s long
    assert far.get("/healthz", environ_base=FAR).status_code == 200


def test_guessing_keys_is_limited_by_address(settings: Settings) -> None:
    far = client(replace(settings, rate_per_address=60, rate_burst=3))
    guesses = [far.get("/api/search", environ_base=FAR, headers={"X-API-Key": f"guess{n}"}) for n in range(4)]
    assert [guess.status_code for guess in guesses] == [401, 401, 401, 429]


def test_each_key_has_its_own_limit(settings: Settings) -> None:
    far = client(replace(settings, rate_per_key=60, rate_burst=2))
    ring = KeyRing(settings.key_path)
    first, second = ({"X-API-Key": ring.create(name, ["read"])} for name in "ab")
    assert [far.get("/api/search", environ_base=FAR, headers=first).status_code for _ in range(3)] == [200, 200, 429]
    assert far.get("/api/search", environ_base=FAR, headers=second).status_code == 200


def test_a_caller_cannot_choose_its_address_by_a_header(settings: Settings) -> None:
    far = client(replace(settings, rate_per_address=60, rate_burst=1))
    codes = [
        far.get("/api/search", environ_base=FAR, headers={"X-Forwarded-For": f"198.51.100.{number}"}).status_code
        for number in range(2)
    ]
    assert codes == [200, 429]


def test_a_trusted_proxy_names_the_caller(settings: Settings) -> None:
    far = client(replace(settings, rate_per_address=60, rate_burst=1, trusted_proxies=1))
    codes = [
        far.get("/api/search", environ_base=FAR, headers={"X-Forwarded-For": f"198.51.100.{number}"}).status_code
        for number in range(2)
    ]
    assert codes == [200, 200]


def test_neighbours_in_one_ipv6_network_share_a_limit() -> None:
    assert guard.network("2001:db8:1:2:aaaa::1") == guard.network("2001:db8:1:2:bbbb::2")
    assert guard.network("203.0.113.9") != guard.network("203.0.113.8")


def test_an_unknown_rule_is_refused_at_start(settings: Settings) -> None:
    with pytest.raises(InputError, match="TREELINE_KEYS_REQUIRED"):
        client(replace(settings, keys_required="some"))


@pytest.mark.parametrize("start", ["/files/", "/api/files/", "/functions/", "/nothing/"])
def test_a_path_over_the_limit_is_refused_before_anything_reads_it(settings: Settings, start: str) -> None:
    refusal = client(settings).get(start + "a/" * 60_000)
    assert refusal.status_code == 414
    assert b"over 1,024 characters" in refusal.data


@pytest.mark.parametrize(
    "header",
    ["X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via", "CF-Connecting-IP", "CF-Ray", "CDN-Loop",
     "True-Client-IP", "Fastly-Client-IP", "X-Client-IP", "X-Amzn-Trace-Id", "X-Envoy-External-Address"],
)  # fmt: skip
def test_what_came_through_a_proxy_is_not_local(settings: Settings, header: str) -> None:
    assert client(settings).post("/api/feedback", headers={header: "x"}).status_code == 401


def test_what_nginx_sends_unless_told_otherwise_is_not_local(settings: Settings) -> None:
    plain = {"SERVER_PROTOCOL": "HTTP/1.0", "HTTP_CONNECTION": "close"}
    assert client(settings).post("/api/feedback", environ_overrides=plain).status_code == 401
