"""A real server with a small real index, and a real Chromium; a page that complains on its console fails its test."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, ViewportSize, expect, sync_playwright

from tests.service.web.library import INDEX, make_library
from tests.service.web.test_evaluation_page import numbered, run
from tests.service_process import service

FLAGS = [
    "--no-sandbox",  # Chromium's own sandbox does not run as root
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE = 60_000  # milliseconds; an idle machine needs a hundredth of it
DESKTOP = ViewportSize(width=1440, height=1000)


def many() -> dict[str, object]:
    """A run with long names of metrics and systems that lie close together."""
    labels = ["NDCG within", "NDCG within, covered", "all, covered, list of 10", "within, covered, list of 10", "MRR"]
    metrics = [{"name": str(number), "label": label, "share": True} for number, label in enumerate(labels)]
    systems = [
        {
            "name": name,
            "means": {metric["name"]: {"mean": mean, "queries": 2} for metric in metrics},
            "latency": {"p50": milliseconds, "p95": 2 * milliseconds},
        }
        for name, mean, milliseconds in (("keyword", 0.46, 12), ("routed", 0.565, 16.4), ("default", 0.560, 18.4))
    ]
    return {**run("many"), "headline": "0", "metrics": metrics, "systems": systems}


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the running service."""
    folder = tmp_path_factory.mktemp("browser")
    make_library(folder / "home")
    results = folder / "results"
    results.mkdir()
    (results / "abc-codesearchnet.json").write_text(json.dumps(run()), encoding="utf-8")
    (results / "abc-numbered.json").write_text(
        json.dumps({**numbered(["2", "9", "10"]), "dataset": "codesearchnet-numbered"}), encoding="utf-8"
    )
    (results / "abc-many.json").write_text(json.dumps(many()), encoding="utf-8")
    settings = {
        "home": str(folder / "home"),
        "index": INDEX,
        "first_source": "",
        "eval_results": str(results),
        "write_roots": str(folder / "sources"),
    }
    with service(folder / "process", settings) as running:
        running.wait_for("/readyz", 200)
        yield running.base


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Browser, base: str) -> Iterator[BrowserContext]:
    opened = browser.new_context(
        base_url=base, viewport=DESKTOP, color_scheme="light", permissions=["clipboard-read", "clipboard-write"]
    )
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext, base: str) -> Iterator[Page]:
    page = context.new_page()
    complaints = watched(page, base)
    yield page
    assert not complaints


def watched(page: Page, base: str) -> list[str]:
    """What the page complains about: errors, dialogs, requests to anywhere else."""
    complaints: list[str] = []

    def refuse(dialog: Dialog) -> None:
        complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("console", lambda m: complaints.append(m.text) if m.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", refuse)
    page.on("request", lambda r: complaints.append(r.url) if not r.url.startswith((base, "data:", "blob:")) else None)
    return complaints


@pytest.fixture
def images() -> Path:
    return Path(__file__).parent.parent.parent.parent / "docs" / "images"
