"""For everyone: keyboard only, screen reader, phone, dark, without scripts, with less motion."""

import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from tests.service.browser.conftest import DESKTOP, watched

pytestmark = pytest.mark.browser

ADDRESSES = {
    "home": "/",
    "search": "/search?q=open+a+file",
    "empty": "/search",
    "nothing": "/search?q=parse&language=klingon",
    "wrong": "/search?q=parse&mode=telepathy&k=3",
    "long word": f"/search?q=%22{'x' * 300}%22",
    "function": "/functions/{function}?q=parse+url",
    "repositories": "/files/",
    "folder": "/files/text/",
    "file": "/files/text/textwrap.py#L20-L30",
    "sources": "/sources",
    "compare": "/compare?q=open+a+file",
    "eval": "/eval",
    "docs": "/docs",
    "missing": "/functions/nothing",
}
PHONES = [{"width": 390, "height": 844}, {"width": 320, "height": 568}]
MAP_FROM = 1120  # pixels of width; narrower pages show the map when it is asked for


def address_of(page: Page, name: str) -> str:
    found = page.request.get("/api/search?q=parse+url&k=1").json()["results"][0]["id"]
    return ADDRESSES[name].format(function=found)


def settled(page: Page, name: str) -> None:
    """Everything is drawn that is drawn by itself."""
    if name == "search" and page.viewport_size and page.viewport_size["width"] >= MAP_FROM:
        expect(page.locator(".disk[data-drawn]")).to_be_visible()
    if name == "sources":
        expect(page.locator("[data-list] tbody tr")).to_have_count(3)
    if name == "eval":
        expect(page.locator("[data-chart=latency][data-drawn]")).to_be_visible()
        expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_axe_finds_nothing_serious(browser: Browser, base: str, name: str, scheme: str) -> None:
    context = browser.new_context(base_url=base, color_scheme=scheme, viewport={"width": 1440, "height": 1000})  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address_of(page, name))
    settled(page, name)
    for fold in page.locator(".result details").all()[:2]:
        fold.locator("summary").click()
    found = Axe().run(page).response["violations"]
    context.close()
    serious = [one for one in found if one["impact"] in {"serious", "critical"}]
    assert not serious, [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in serious]


@pytest.mark.parametrize("phone", PHONES, ids=lambda phone: str(phone["width"]))
@pytest.mark.parametrize("name", ADDRESSES)
def test_a_phone_shows_everything_without_scrolling_sideways(
    browser: Browser, base: str, name: str, phone: dict[str, int]
) -> None:
    context = browser.new_context(base_url=base, viewport=phone, has_touch=True, is_mobile=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address_of(page, name))
    settled(page, name)
    width = page.evaluate("document.scrollingElement.scrollWidth")
    small = page.evaluate(
        """[...document.querySelectorAll("button, summary, .pager a")].filter((one) => one.checkVisibility()
           && one.getBoundingClientRect().height < 24).map((one) => one.outerHTML.slice(0, 80))"""
    )
    context.close()
    assert width <= phone["width"]
    assert not small


def test_by_keyboard_alone(page: Page) -> None:
    page.goto("/")
    page.keyboard.type("parse url")  # the box has the focus
    page.keyboard.press("Enter")
    expect(page.locator(".result")).to_have_count(10)
    page.wait_for_load_state()  # only then is anybody listening to the keys
    page.keyboard.press("j")
    expect(page.locator(".result h2 a").first).to_be_focused()
    page.keyboard.press("w")
    expect(page.locator(".result .why").first).to_have_attribute("open", "")
    page.keyboard.press("j")
    expect(page.locator(".result h2 a").nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("open a file")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("open"))
    page.wait_for_load_state()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/functions/"))


def test_tab_reaches_every_control_and_the_skip_link_comes_first(page: Page) -> None:
    page.goto("/search?q=parse+url")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("(({activeElement: one}) => one.name || one.className || one.localName)(document)"))
    assert {"q", "look", "diversity", "path", "code"} <= seen


def foreign(page: Page) -> str:
    """The address of the function that is written from right to left and has a long description."""
    found = page.request.get("/api/search?q=تحليل&k=1").json()["results"][0]
    assert found["func_name"] == "تحليل"
    return f"/functions/{found['id']}"


def test_a_long_description_is_read_with_the_keyboard(page: Page) -> None:
    page.goto(foreign(page))
    found = Axe().run(page).response["violations"]
    assert not [one["id"] for one in found if one["impact"] in {"serious", "critical"}]
    page.get_by_role("region", name="Description").focus()
    page.keyboard.press("End")
    page.wait_for_function("() => document.activeElement.scrollTop > 0")


ORDER = """() => {
  const code = document.querySelector("pre.code code"), name = code.querySelector(".f").getBoundingClientRect();
  const place = document.createRange(), text = code.querySelector(".f").nextSibling;
  place.setStart(text, text.data.indexOf("رابط"));
  place.setEnd(text, text.data.indexOf("رابط") + 4);
  return [name.right, place.getBoundingClientRect().left];
}"""


def test_what_is_written_from_right_to_left_keeps_its_place(page: Page) -> None:
    page.goto(foreign(page))
    name, argument = page.evaluate(ORDER)
    assert name < argument
    page.goto("/search?q=تحليل")
    expect(page.locator(".where .repo").first).to_have_text("عربي/مستودع")
    repo, path = (page.locator(f".where .{part}").first.bounding_box() for part in ("repo", "path"))
    assert repo and path and repo["x"] + repo["width"] <= path["x"]


def test_on_paper_it_is_dark_on_light_and_no_line_is_cut_off(page: Page) -> None:
    page.goto("/")
    light = page.evaluate("getComputedStyle(document.body).color")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.goto("/search?q=parse+url")
    assert page.evaluate("getComputedStyle(document.body).color") != light
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 500, "height": 800})
    assert page.evaluate("getComputedStyle(document.body).color") == light
    cut = "[...document.querySelectorAll('pre')].filter((one) => one.scrollWidth > one.clientWidth).length"
    assert page.evaluate(cut) == 0


def test_dark_is_dark_and_the_switch_is_remembered(page: Page) -> None:
    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    page.goto("/")
    light = background()
    page.emulate_media(color_scheme="dark")
    dark = background()
    assert light != dark
    page.emulate_media(color_scheme="light")
    switch = page.get_by_role("button", name=re.compile("Colour scheme"))
    switch.click()  # light
    switch.click()  # dark
    assert background() == dark
    page.reload()
    assert background() == dark


def test_searching_and_paging_work_without_scripts(browser: Browser, base: str) -> None:
    context = browser.new_context(base_url=base, java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("What should the code do?").fill("parse url")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".result")).to_have_count(10)
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".rank").first).to_contain_text("11")
    page.locator(".result .why summary").first.click()
    expect(page.locator(".result .why table").first).to_be_visible()
    context.close()


@pytest.mark.parametrize("name", ["search", "function", "docs"])
def test_without_scripts_nothing_is_offered_that_needs_them(browser: Browser, base: str, name: str) -> None:
    context = browser.new_context(base_url=base, java_script_enabled=False)
    page = context.new_page()
    page.goto(address_of(page, name))
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.locator("[data-copy]:visible, [data-vote]:visible, [data-map]:visible")).to_have_count(0)
    expect(page.locator("button:visible", has_text="Try it")).to_have_count(0)
    context.close()


def test_without_scripts_the_dashboard_has_tables_and_no_empty_boxes(browser: Browser, base: str) -> None:
    context = browser.new_context(base_url=base, java_script_enabled=False)
    page = context.new_page()
    page.goto("/eval")
    expect(page.locator("noscript p")).to_be_visible()  # a text in there is not looked for
    expect(page.locator("[data-chart]:visible, select:visible, input:visible")).to_have_count(0)
    expect(page.locator("table.data").first).to_be_visible()
    context.close()


def test_a_phone_shows_every_mode(page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 568})
    page.goto("/search?q=parse+url")
    for name in page.locator(".switches .segments span").all():
        box = name.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 320
    assert page.locator(".switches .segments").evaluate("(one) => one.scrollWidth <= one.clientWidth")


def test_the_dashboard_draws_sorts_and_filters(page: Page) -> None:
    page.goto("/eval")
    settled(page, "eval")
    expect(page.locator("[data-chart=bars] .bars .point")).to_have_count(2)
    rows = page.locator("[data-sortable] tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="default").click()
    expect(page.locator("th[aria-sort=descending]")).to_have_text("default")
    expect(rows.first).to_contain_text("0.812")
    page.get_by_label("Filter").fill("nothing like it")
    expect(rows.first).to_be_hidden()


def test_the_dashboard_lists_questions_by_number_and_what_the_worst_returned(page: Page) -> None:
    page.goto("/eval?run=abc-numbered")
    settled(page, "eval")
    names = page.locator("[data-sortable] tbody th")
    by_question = page.get_by_role("button", name="Query")
    by_question.click()
    expect(names).to_have_text(["python #10", "python #9", "python #2"])
    by_question.click()
    expect(names).to_have_text(["python #2", "python #9", "python #10"])
    page.get_by_label("Filter").fill("#9")
    expect(page.locator("[data-sortable] tbody tr:visible")).to_have_count(1)
    worst = page.locator("details.worst").first
    worst.locator("summary").click()
    expect(worst.get_by_role("link", name="sort_all")).to_be_visible()


OUTSIDE = """() => [...document.querySelectorAll('.chart')].flatMap((chart) => {
  const edge = chart.getBoundingClientRect();
  return [...chart.querySelectorAll('text')].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.width && (box.left < edge.left - 1 || box.right > edge.right + 1 || box.top < edge.top - 1);
  }).map((text) => text.textContent);
})"""


@pytest.mark.parametrize("width", [1440, 1000, 390])
def test_no_label_of_a_picture_is_cut_off(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/eval?run=abc-many")
    settled(page, "eval")
    expect(page.locator("[data-chart=radar] .angularaxistick text")).to_have_count(5)
    assert page.evaluate(OUTSIDE) == []


def test_the_reference_can_be_tried_out(page: Page) -> None:
    page.goto("/docs")
    form = page.locator("form[data-method=GET][data-path='/api/search']")
    form.locator("[name=q]").fill("parse url")
    form.locator("select[name=mode]").select_option("keyword")
    form.get_by_role("button", name="Try it").click()
    expect(form.locator(".reply p")).to_contain_text("mode=keyword: 200")
    expect(form.locator(".reply pre")).to_contain_text('"func_name"')
    assert page.evaluate("document.scrollingElement.scrollWidth") <= DESKTOP["width"]  # long lines scroll in the reply


SHOTS = {
    "home": ("/", "light", (1280, 860)),
    "search": ("/search?q=function+that+retries+with+exponential+backoff", "light", (1440, 1000)),
    "search-dark": ("/search?q=sort+list+of+dictionaries+by+key", "dark", (1440, 1000)),
    "why": ("/search?q=convert+bytes+to+a+human+readable+size&rerank=algorithm2", "light", (1440, 1000)),
    "phone": ("/search?q=remove+html+tags+from+a+string", "light", (390, 844)),
    "eval": ("/eval", "light", (1440, 1000)),
}


@pytest.mark.skipif("TREELINE_SCREENSHOTS" not in os.environ, reason="set TREELINE_SCREENSHOTS=BASE-URL to make them")
@pytest.mark.parametrize("name", SHOTS)
def test_screenshots_for_the_readme(browser: Browser, images: Path, name: str) -> None:
    """Of the service at that address, so that the pictures show an index worth looking at."""
    base = os.environ["TREELINE_SCREENSHOTS"].rstrip("/")
    address, scheme, (width, height) = SHOTS[name]
    context = browser.new_context(
        base_url=base,
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": width, "height": height},
    )
    page = context.new_page()
    complaints = watched(page, base)
    for warm in ("open a file", "parse json", "sort numbers"):
        page.request.get(f"/api/search?q={warm}")
        page.request.get(f"/api/search?q={warm}&rerank=algorithm2")
    page.goto(address)
    page.wait_for_timeout(500)
    if name == "eval" and not page.locator("[data-chart]").count():
        pytest.skip("nothing has been evaluated there")
    settled(page, name.split("-")[0])
    if name == "why":
        page.locator(".why summary").first.click()
    page.wait_for_timeout(800)
    images.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=images / f"{name}.png")
    context.close()
    assert not complaints
