"""The code view in a real browser: lines and ranges, cards on names, who calls what is under the cursor."""

import re

from playwright.sync_api import Browser, Page, expect

FILE = "/files/text/textwrap.py"


def test_a_click_and_a_shift_click_choose_a_range_that_the_address_keeps(page: Page) -> None:
    page.goto(FILE)
    page.locator("#L10").click()
    expect(page).to_have_url(re.compile(r"#L10$"))
    page.locator("#L20").click(modifiers=["Shift"])
    expect(page).to_have_url(re.compile(r"#L10-L20$"))
    page.reload()
    expect(page.locator(".chosen")).to_be_visible()
    ten, twenty = page.locator("#L10").bounding_box(), page.locator("#L20").bounding_box()
    marked = page.locator(".chosen").bounding_box()
    assert ten and twenty and marked
    assert abs(marked["y"] - ten["y"]) < ten["height"]
    assert abs(marked["y"] + marked["height"] - twenty["y"] - twenty["height"]) < twenty["height"]


def test_the_unit_at_the_chosen_line_is_described_with_its_callers(page: Page) -> None:
    page.goto(FILE)
    page.locator(".outline a", has_text="_split_chunks").click()
    panel = page.locator("[data-unit-panel]")
    expect(panel).to_contain_text("_split_chunks")
    expect(panel).to_contain_text("Called by")
    expect(panel).to_contain_text("wrap")


def test_a_name_shows_a_card_and_leads_to_its_definition(page: Page) -> None:
    page.goto(f"{FILE}#L340")
    name = page.locator(".code a[href*='#L']", has_text="_split_chunks").first
    name.hover()
    expect(page.locator("[data-card]")).to_contain_text("def _split_chunks")
    page.mouse.move(5, 5)
    expect(page.locator("[data-card]")).to_be_hidden()
    name.focus()
    expect(page.locator("[data-card]")).to_contain_text("def _split_chunks")
    name.press("Escape")
    expect(page.locator("[data-card]")).to_be_hidden()
    name.press("Enter")
    expect(page.locator("[data-unit-panel]")).to_contain_text("def _split_chunks")


def test_the_chosen_lines_and_their_link_are_copied(page: Page) -> None:
    page.goto(f"{FILE}#L1-L2")
    page.get_by_role("button", name="Copy code").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith('"""Text wrapping and filling.\n')
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()).endsWith('textwrap.py#L1-L2')")


def test_arrows_move_along_the_line_numbers(page: Page) -> None:
    page.goto(FILE)
    page.locator("#L1").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#L2$"))
    page.keyboard.press("Shift+ArrowDown")
    expect(page).to_have_url(re.compile(r"#L2-L3$"))


def test_a_long_file_comes_as_one_scrolls_and_a_far_line_at_once(page: Page) -> None:
    page.goto("/files/text/difflib.py")
    assert page.locator("#L2000").count() == 0
    before = page.locator(".gutter a").count()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.locator(f"#L{before + 10}")).to_be_attached()
    page.goto("/files/text/difflib.py#L2000")
    expect(page.locator("#L2000")).to_be_in_viewport()
    expect(page.locator(".chosen")).to_be_visible()


def test_files_can_be_browsed_and_read_without_scripts(browser: Browser, base: str) -> None:
    context = browser.new_context(base_url=base, java_script_enabled=False)
    page = context.new_page()
    page.goto("/files/")
    page.get_by_role("link", name="text", exact=True).click()
    page.get_by_role("link", name="json/", exact=True).click()
    page.get_by_role("link", name="decoder.py", exact=True).click()
    expect(page.locator(".code")).to_contain_text("class JSONDecoder")
    page.locator(".crumbs").get_by_role("link", name="text", exact=True).click()
    page.get_by_role("link", name="difflib.py", exact=True).click()
    page.locator(".next-part").click()
    expect(page.get_by_role("link", name="Lines before")).to_be_visible()
    context.close()


def test_far_down_a_file_its_name_and_the_place_in_the_outline_stay_in_view(page: Page) -> None:
    page.goto(f"{FILE}#L420")
    expect(page.get_by_role("heading", name="textwrap.py")).to_be_in_viewport()
    expect(page.locator(".outline a.here")).to_be_in_viewport()
    expect(page.locator("[data-unit-panel] h2")).to_be_in_viewport()
    expect(page.locator("#L420")).to_be_in_viewport()


def test_a_phone_shows_the_chosen_line_above_the_panel_that_describes_it(browser: Browser, base: str) -> None:
    context = browser.new_context(base_url=base, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{FILE}#L340")
    panel = page.locator("[data-unit-panel]")
    expect(panel.locator("h2")).to_be_in_viewport()
    line, sheet = page.locator("#L340").bounding_box(), panel.bounding_box()
    assert line and sheet and line["y"] + line["height"] < sheet["y"]
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_empty()
    context.close()


def test_sources_are_listed_and_what_is_not_allowed_or_not_meant_changes_nothing(browser: Browser, base: str) -> None:
    context = browser.new_context(base_url=base)
    page = context.new_page()  # of its own: Chromium writes every refusal to the console
    page.goto("/files/")
    page.get_by_role("link", name="Add, update or remove repositories").click()
    row = page.locator("tbody tr", has_text="sources/text")
    expect(row).to_be_visible()
    with page.expect_response("**/api/sources") as refused:
        page.get_by_role("textbox", name="Folder").fill("relative/folder")
        page.get_by_role("button", name="Add").click()
    assert refused.value.status == 400
    expect(page.get_by_role("alert")).to_contain_text("is not the whole path of a folder")
    row.get_by_role("button", name="Remove").click()
    expect(row.get_by_role("button", name="Really remove?")).to_be_visible()
    page.keyboard.press("Tab")
    expect(row.get_by_role("button", name="Remove", exact=True)).to_be_visible()
    assert page.request.get("/api/sources/job").json()["job"] is None
    context.close()
