"""While one types: filters are completed; what was asked and saved is kept in the browser; `?` lists the keys."""

import re

from playwright.sync_api import Page, expect


def test_a_filter_is_completed_by_keyboard(page: Page) -> None:
    page.goto("/search")
    page.locator("#q").fill("open a file repo:sys")
    page.locator("#q").press("End")
    page.locator("#q").dispatch_event("input")
    expect(page.get_by_role("option", name="system")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#q")).to_have_value("open a file repo:system ")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("repo%3Asystem|repo=system"))
    expect(page.locator(".result .repo").first).to_have_text("system")


def test_a_path_is_completed_folder_by_folder(page: Page) -> None:
    page.goto("/search")
    page.locator("#q").press_sequentially("decode repo:text path:js")
    page.get_by_role("option", name="json/").click()
    expect(page.get_by_role("option", name="json/decoder.py")).to_be_visible()
    expect(page.locator("#q")).to_have_value("decode repo:text path:json/")


def test_a_saved_search_and_what_was_asked_are_on_the_front_page(page: Page) -> None:
    page.goto("/search?q=open+a+file&repo=system")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="Saved")).to_have_attribute("aria-pressed", "true")
    page.goto("/")
    expect(page.get_by_text("Saved searches")).to_be_visible()
    expect(page.locator("[data-kept] a").first).to_have_attribute("href", "/search?q=open+a+file&repo=system")
    page.get_by_role("button", name="Forget what was asked").click()
    expect(page.get_by_text("Asked before")).to_have_count(0)
    expect(page.get_by_text("Saved searches")).to_be_visible()


def test_a_question_mark_lists_the_keys(page: Page) -> None:
    page.goto("/search?q=open+a+file")
    page.locator("h1").first.click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("next result")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_the_link_to_share_is_this_search(page: Page) -> None:
    page.goto("/search?q=open+a+file&page=2")
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()).endsWith('/search?q=open+a+file')")
