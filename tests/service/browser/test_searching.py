"""Searching as a person would: type, look, switch, fold out, page, copy, vote."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

pytestmark = pytest.mark.browser


# The sign that something was copied is shown for a second and a half, which a busy machine can miss.
NOTE_THAT_IT_IS_DONE = """(result) => new MutationObserver(() => {
  if (result.querySelector(".icon.done")) document.body.dataset.done = "yes";
}).observe(result, { subtree: true, attributes: true })"""


ON_TOP = """(one) => {
  const { x, y, width, height } = one.getBoundingClientRect();
  return one.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}"""


def ask(page: Page, question: str, extra: str = "") -> None:
    page.goto(f"/search?q={question.replace(' ', '+')}{extra}")
    expect(page.locator(".result").first).to_be_visible()


def test_from_the_front_page_to_a_function(page: Page) -> None:
    page.goto("/")
    page.get_by_label("What should the code do?").fill("wrap a paragraph of text")
    page.get_by_role("button", name="Search").click()
    expect(page).to_have_url(re.compile(r"/search\?q=wrap\+a\+paragraph\+of\+text$"))
    expect(page.locator(".result")).to_have_count(10)
    expect(page.locator(".result").first.locator("mark").first).to_be_visible()
    page.locator(".result h2 a").first.click()
    expect(page).to_have_url(re.compile(r"/functions/[0-9a-f]{32}"))
    expect(page.locator(".numbered code")).to_be_visible()
    page.get_by_role("link", name="Results for").click()
    expect(page.locator(".result")).to_have_count(10)


def test_suggestions_on_the_front_page_are_not_cut_off(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto("/")
    page.get_by_label("What should the code do?").press_sequentially("shutil.")
    options = page.get_by_role("option")
    expect(options).to_have_count(8)
    assert all(option.evaluate(ON_TOP) for option in options.all())


def test_names_are_suggested_and_taken_with_the_arrow_keys(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_role("combobox", name="What should the code do?")
    box.press_sequentially("heappu", delay=20)
    first = page.get_by_role("option").first
    expect(first.locator("b")).to_have_text("heappu")
    held: list[Route] = []
    page.route("**/api/suggest?prefix=heappus", lambda route: held.append(route), times=1)
    with page.expect_request("**/api/suggest?prefix=heappus"):
        box.press("s")
    box.press("ArrowDown")
    expect(box).to_have_attribute("aria-activedescendant", "s0")
    held[0].continue_()
    expect(first.locator("b")).to_have_text("heappus")  # a list that comes late leaves the choice as it is
    expect(box).to_have_attribute("aria-activedescendant", "s0")
    box.press("Enter")
    expect(page).to_have_url(re.compile("q=heappush"))
    expect(page.locator(".result h2").first).to_contain_text("heappush")


def test_look_and_diversity_are_switched_and_stay_in_the_address(page: Page) -> None:
    ask(page, "open a file")
    expect(page.get_by_role("combobox", name="Search by")).to_be_hidden()  # under Advanced
    page.get_by_text("Callers", exact=True).click()
    expect(page).to_have_url(re.compile("look=callers"))
    page.wait_for_load_state()  # a switch that is turned before the script is there does nothing
    expect(page.get_by_role("radio", name="Callers")).to_be_checked()
    page.get_by_role("slider", name="Diversity").fill("1")
    expect(page).to_have_url(re.compile("look=callers.*diversity=1"))
    page.reload()
    expect(page.get_by_role("radio", name="Callers")).to_be_checked()
    expect(page.get_by_role("slider", name="Diversity")).to_have_value("1")
    page.go_back()
    expect(page.get_by_role("slider", name="Diversity")).to_have_value("0.5")


def test_four_results_fit_on_a_usual_screen(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    ask(page, "open a file")
    boxes = [result.bounding_box() for result in page.locator(".result").all()]
    assert sum(1 for box in boxes if box and box["y"] + box["height"] <= 900) >= 4


def test_why_here_shows_each_lanes_rank_and_share_as_bars(page: Page) -> None:
    ask(page, "parse url")
    why = page.locator(".result").first.locator(".why")
    why.locator("summary").click()
    expect(why.get_by_role("row")).to_have_count(3 + 1)  # the head, two lanes, the sum
    bars = why.locator("rect.bar")
    expect(bars.first).to_be_visible()
    shares = [float(text) for text in why.locator("tbody .num").all_inner_texts()]
    assert abs(sum(shares[:-1]) - shares[-1]) < 0.0002


def test_filters_count_and_narrow(page: Page) -> None:
    ask(page, "read the next line")
    link = page.locator(".filters a", has_text="text").first
    link.click()
    expect(page).to_have_url(re.compile("repo=text"))
    expect(page.locator(".filters a.on")).to_contain_text("text")
    page.wait_for_load_state()
    assert set(page.locator(".where .repo").all_inner_texts()) == {"text"}
    page.get_by_role("link", name="Clear filters").click()
    expect(page).not_to_have_url(re.compile("repo="))


def test_the_code_is_copied_whole(page: Page) -> None:
    ask(page, "parse url")
    result = page.locator(".result").first
    function = result.get_attribute("data-id")
    result.evaluate(NOTE_THAT_IT_IS_DONE)
    result.get_by_role("button", name="Copy the code").click()
    expect(page.locator("body[data-done]")).to_be_visible()
    expected = page.request.get(f"/api/functions/{function}").json()["original_string"]
    assert page.evaluate("navigator.clipboard.readText()") == expected


def test_a_long_function_unfolds_in_its_place(page: Page) -> None:
    ask(page, "wrap text into paragraphs")
    long = page.locator(".result", has=page.locator("[data-more]")).first.get_attribute("data-id")
    result = page.locator(f'.result[data-id="{long}"]')
    before = len(result.locator("pre.code").inner_text().split("\n"))
    result.locator("[data-more]").click()
    expect(result.locator("[data-more]")).to_have_count(0)
    assert len(result.locator("pre.code").inner_text().split("\n")) > before


def test_where_it_cannot_unfold_its_page_is_opened(context: BrowserContext) -> None:
    page = context.new_page()  # one that may complain
    page.route("**/code?*", lambda route: route.abort())
    page.goto("/search?q=open+a+file&map=off")
    page.locator("[data-more]").first.click()
    expect(page).to_have_url(re.compile("/functions/"))


def test_similar_functions_fold_out(page: Page) -> None:
    ask(page, "parse url")
    alike = page.locator(".alike").first
    alike.locator("summary").click()
    expect(alike.locator(".places li").first).to_be_visible()
    expect(alike.locator(".places li").first).to_contain_text("%")


def test_thumbs_count_for_the_question_and_can_be_taken_back(page: Page) -> None:
    ask(page, "join two paths together")
    third = page.locator(".result").nth(2)
    function = third.get_attribute("data-id")
    up = third.get_by_role("button", name=re.compile("is useful"))
    with page.expect_response("**/api/feedback") as reply:
        up.click()
    assert reply.value.status == 200
    expect(up).to_have_attribute("aria-pressed", "true")
    ask(page, "join two paths together")
    result = page.locator(f'.result[data-id="{function}"]')
    result.locator(".why summary").click()
    expect(result.locator(".why p")).to_contain_text("1 thumb up")
    up = result.get_by_role("button", name=re.compile("is useful"))
    expect(up).to_have_attribute("aria-pressed", "true")  # it was this browser that voted
    with page.expect_response("**/api/feedback") as reply:
        up.click()
    assert '"undo":true' in (reply.value.request.post_data or "")
    expect(up).to_have_attribute("aria-pressed", "false")
    ask(page, "join two paths together")
    result.locator(".why summary").click()
    expect(result.locator(".why p")).not_to_contain_text("feedback")
    expect(up).to_have_attribute("aria-pressed", "false")


def test_the_other_thumb_takes_the_first_one_back(page: Page) -> None:
    ask(page, "fill a paragraph")
    result = page.locator(".result").first
    up, down = (result.get_by_role("button", name=re.compile(name)) for name in ("is useful", "is not useful"))
    held: list[Route] = []
    page.route("**/api/feedback", lambda route: held.append(route), times=1)
    with page.expect_request("**/api/feedback"):
        up.click()
    with page.expect_response(lambda reply: '"down"' in (reply.request.post_data or "")):
        down.click()  # before the first is through
        expect(down).to_have_attribute("aria-pressed", "true")
        held[0].continue_()
    expect(down).to_have_attribute("aria-pressed", "true")
    expect(up).to_have_attribute("aria-pressed", "false")
    function = result.get_attribute("data-id")
    ask(page, "fill a paragraph")
    result = page.locator(f'.result[data-id="{function}"]')
    result.locator(".why summary").click()
    expect(result.locator(".why p")).to_contain_text("(1 thumb down)")
    expect(result.get_by_role("button", name=re.compile("is not useful"))).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("length", [1_200, 30_000])  # in the address, and in the body
def test_a_pasted_issue_is_read_whole(page: Page, length: int) -> None:
    page.goto("/")
    box = page.get_by_label("What should the code do?")
    height = box.evaluate("box => box.clientHeight")
    box.focus()
    page.keyboard.insert_text(
        "wrap() loses a line\n\n" + "When a paragraph of text is wrapped, lines get lost.\n" * (length // 50)
    )
    assert box.evaluate("box => box.clientHeight") > height  # the box grows
    page.keyboard.press("Enter")
    expect(page.get_by_text("understood as an issue")).to_be_visible()
    expect(page.get_by_text("Read as an issue: its first line")).to_be_visible()
    expect(page.locator(".result").first).to_be_visible()
    page.get_by_role("link", name="python").first.click()  # the text is in the links, as far as they hold it
    expect(page.get_by_text("understood as an issue")).to_be_visible()


def test_a_hostile_record_does_nothing(page: Page) -> None:
    ask(page, "steal cookies")
    evil = page.locator(".result", has_text="evil/").first
    expect(evil.locator("pre .u").first).to_have_text("U+202E")
    evil.locator("h2 a").click()
    expect(page.locator(".crumbs")).to_contain_text("evil/<img src=x onerror=alert(1)>")
