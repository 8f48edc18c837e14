"""The evaluation's page in a real browser: no network, no errors, no sideways scrolling on a phone."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.eval.report.test_reports import document
from treeline.eval.report import results
from treeline.eval.report.page import page

CHROMIUM = os.environ.get("TREELINE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1200, "dark")])
def test_the_page_draws_without_a_network(tmp_path: Path, width: int, scheme: str) -> None:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    file = tmp_path / "eval.html"
    file.write_text(page(results.stamp(document())), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if scheme == "dark" else "light",
            offline=True,
        )
        opened = context.new_page()
        errors: list[str] = []
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        opened.goto(file.as_uri())
        expect(opened.locator(".js-plotly-plot:has(.main-svg)")).to_have_count(4, timeout=60_000)
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert errors == []
        browser.close()
