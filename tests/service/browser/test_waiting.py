"""Pages opened too early: they say what is missing, and go on by themselves when it is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.service.browser.conftest import PATIENCE
from tests.service.web.library import INDEX, make_library
from tests.service_process import ServiceProcess, service


@pytest.fixture
def early(tmp_path: Path) -> Iterator[ServiceProcess]:
    settings = {"home": str(tmp_path / "home"), "index": INDEX, "first_source": ""}
    with service(tmp_path / "process", settings) as running:
        running.wait_for("/healthz", 200)
        yield running


def test_pages_go_on_when_the_index_is_there(browser: Browser, early: ServiceProcess, tmp_path: Path) -> None:
    context = browser.new_context(base_url=early.base)
    context.set_default_timeout(PATIENCE)
    home, results = context.new_page(), context.new_page()
    home.goto("/")
    results.goto("/search?q=heappush")
    for page in (home, results):
        expect(page.get_by_role("heading", name="There is nothing to search yet")).to_be_visible()
        expect(page.get_by_text("reloads by itself")).to_be_visible()
    make_library(tmp_path / "home")
    results.bring_to_front()
    expect(results.locator(".result").first).to_be_visible()
    home.bring_to_front()
    expect(home.locator(".figures")).to_contain_text("functions, classes and other parts")
    context.close()
