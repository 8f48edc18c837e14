"""The map: drawn after the list, coloured like it, followed to a function."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

pytestmark = pytest.mark.browser

# The one of the ten best that stands most alone: its rank.
LONELIEST = """() => {
  const points = [...document.querySelectorAll(".disk .point")].map((mark) => {
    const { x, y, width, height } = mark.getBoundingClientRect();
    return [Number(mark.textContent) || 99, x + width / 2, y + height / 2];
  });
  const apart = (one, other) => (one === other ? 1e9 : Math.hypot(one[1] - other[1], one[2] - other[2]));
  const alone = (one) => Math.min(...points.map((other) => apart(one, other)));
  return points.filter((one) => one[0] <= 10).sort((a, b) => alone(b) - alone(a))[0];
}"""


def drawn(page: Page, question: str = "open a file") -> None:
    page.goto(f"/search?q={question.replace(' ', '+')}")
    expect(page.locator(".disk[data-drawn]")).to_be_visible()


def test_it_is_drawn_beside_the_list_and_lends_it_its_colours(page: Page) -> None:
    drawn(page)
    expect(page.locator(".result .rank[class*=cluster-]")).to_have_count(10)
    numbers = page.locator(".disk .best text").all_text_contents()
    assert sorted(map(int, numbers)) == list(range(1, 11))


@pytest.mark.parametrize(("width", "beside"), [(1440, True), (1280, True), (1120, True), (1100, False), (900, False)])
def test_where_there_is_room_it_stands_beside_the_list(page: Page, width: int, beside: bool) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("/search?q=open+a+file")
    if beside:
        expect(page.locator(".disk[data-drawn]")).to_be_visible()
    drawing, listed = page.locator(".map").bounding_box(), page.locator(".list").bounding_box()
    assert drawing and listed
    assert (drawing["x"] >= listed["x"] + listed["width"]) == beside
    assert (drawing["y"] + drawing["height"] <= listed["y"]) == (not beside)
    assert listed["width"] > width * 0.4
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_a_click_on_a_point_opens_its_function(page: Page) -> None:
    drawn(page)
    page.wait_for_load_state("networkidle")  # what comes late may move the map
    rank, x, y = page.evaluate(LONELIEST)
    result = page.locator(f'.result[data-rank="{rank}"]')
    function = result.get_attribute("data-id")
    page.mouse.move(x, y)
    expect(page.locator(".map-tip")).to_contain_text(f"rank {rank}")
    expect(result).to_have_class(re.compile("lit"))
    page.mouse.click(x, y)
    expect(page).to_have_url(re.compile(f"/functions/{function}"))


COVERED = """() => [...document.querySelectorAll(".disk .best circle")].filter((number) => {
  const one = number.getBoundingClientRect();
  return [...document.querySelectorAll(".branch-names rect")].some((label) => {
    const other = label.getBoundingClientRect();
    return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
  });
}).length"""


@pytest.mark.parametrize("question", ["open a file", "parse url", "json", "heap"])
def test_no_label_covers_a_number(page: Page, question: str) -> None:
    drawn(page, question)
    assert page.locator(".branch-names rect").count() > 1
    assert page.evaluate(COVERED) == 0


def test_before_and_after_re_ranking(page: Page) -> None:
    page.goto("/search?q=open+a+file&rerank=algorithm1")
    expect(page.locator(".disk[data-drawn]")).to_be_visible()
    places = "() => [...document.querySelectorAll('.disk .best')].map((mark) => mark.dataset.id).sort().join()"
    after = page.evaluate(places)
    page.get_by_text("before", exact=True).click()
    page.wait_for_function(f"(after) => ({places})() !== after", arg=after)


def test_a_click_on_a_branch_brings_it_to_the_middle_and_back(page: Page) -> None:
    drawn(page)
    middle = "() => [...document.querySelectorAll('.disk .branch')].map((one) => one.getAttribute('transform'))"
    before = page.evaluate(middle)
    page.evaluate("document.querySelectorAll('.disk .branch')[2].dispatchEvent(new MouseEvent('click'))")
    expect(page.locator("[data-map-note]")).to_contain_text("Search within it")
    page.wait_for_function(f"() => ({middle})()[2].startsWith('translate(0.0 0.0)')")
    page.get_by_role("button", name="Whole map").click()
    page.wait_for_function(f"(before) => ({middle})()[0] === before", arg=before[0])


def test_the_name_of_a_branch_searches_within_it(page: Page) -> None:
    drawn(page)
    page.locator(".branch-names a", has_text="system").first.click()
    expect(page).to_have_url(re.compile("repo=system"))
    expect(page.locator(".result .repo").first).to_have_text("system")


def test_the_same_is_there_as_a_nested_list(page: Page) -> None:
    drawn(page)
    page.get_by_text("The same as a list").click()
    rows = page.locator("[data-map-list]")
    expect(rows.get_by_role("link", name="system", exact=True).first).to_have_attribute(
        "href", re.compile("repo=system")
    )
    assert rows.locator("a[href^='/functions/']").count() >= 10


def test_clusters_say_what_they_are_about(page: Page) -> None:
    drawn(page)
    places = page.locator("[data-map-legend] li").all_inner_texts()
    assert len(places) > 1 and len(set(places)) == len(places)


def test_folding_it_away_is_kept_in_the_address(page: Page) -> None:
    drawn(page)
    page.locator("#map-title").click()
    expect(page).to_have_url(re.compile("map=off"))
    page.reload()
    expect(page.locator(".result").first).to_be_visible()
    page.wait_for_timeout(300)
    expect(page.locator(".disk")).to_be_hidden()


def test_the_list_does_not_wait_for_it(context: BrowserContext) -> None:
    page = context.new_page()
    page.route("**/api/map*", lambda route: route.abort())
    page.goto("/search?q=open+a+file")
    expect(page.locator(".result")).to_have_count(10)
    expect(page.locator(".disk")).to_contain_text("could not be drawn")
    page.close()


def test_it_is_asked_for_only_after_the_first_paint(page: Page) -> None:
    drawn(page)
    painted, asked = page.evaluate(
        """() => [performance.getEntriesByName("first-contentful-paint")[0].startTime,
                  performance.getEntriesByType("resource").find((one) => one.name.includes("/api/map")).startTime]"""
    )
    assert painted < asked
