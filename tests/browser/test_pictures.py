"""A picture goes with a message and is seen beside it; a title that changes is seen in every tab."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from playwright.sync_api import Locator, Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, last_turn, send
from tests.pictures import png

PICTURE: Any = {"name": "red.png", "mimeType": "image/png", "buffer": png(side=64)}


def thumbnail(page: Page) -> Locator:
    return last_turn(page).locator(".attachment img")


def is_painted(picture: Locator) -> None:
    """Wait until the browser has the picture and could make something of it."""
    picture.scroll_into_view_if_needed()
    picture.evaluate("image => image.decode()")
    assert picture.evaluate("image => image.naturalWidth") == 64


def test_a_picture_is_seen_by_person_and_model(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Hello."), Reply(text="A red square."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    page.set_input_files("#composer-files", PICTURE)
    expect(page.locator("#composer-attached img")).to_be_visible()
    page.fill("#composer-text", "What is this?")
    page.press("#composer-text", "Enter")
    expect(last_turn(page, "completed")).to_contain_text("A red square.")
    is_painted(thumbnail(page))
    expect(last_turn(page).locator(".message__body").first).to_have_text("What is this?")
    parts = scripted.model.requests[-1]["messages"][-1]["content"]
    sent = parts[-1]["image_url"]["url"]
    assert b64decode(sent.partition("base64,")[2]) == PICTURE["buffer"]
    page.reload()
    is_painted(thumbnail(page))
    thumbnail(page).click()
    is_painted(page.locator("#files-panel .files__picture"))


def test_on_a_shared_page_a_picture_is_as_large_as_there_is_room(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="A red square."))
    page = visitors.enter(scripted, viewport={"width": 390, "height": 844})
    page.goto("/")
    photo: Any = {"name": "photo.png", "mimeType": "image/png", "buffer": png(side=800)}
    page.set_input_files("#composer-files", photo)
    page.fill("#composer-text", "What is this?")
    page.press("#composer-text", "Enter")
    expect(last_turn(page, "completed")).to_contain_text("A red square.")
    page.goto(f"{page.url}share/")
    page.check("#with-files")
    page.get_by_role("button", name="Create link").click()
    page.goto(page.get_by_role("textbox", name="Link").input_value())
    picture = page.get_by_role("img", name="photo.png")
    picture.evaluate("image => image.decode()")
    box = picture.bounding_box()
    assert box
    assert 300 < box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_photo_that_is_too_large_for_models_is_scaled_down(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Hello."), Reply(text="A red square."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    photo: Any = {"name": "IMG 1.png", "mimeType": "image/png", "buffer": png(side=4096, padding=5 * 2**20)}
    page.set_input_files("#composer-files", [PICTURE, photo])
    page.fill("#composer-text", "What is this?")
    page.press("#composer-text", "Enter")  # perhaps before it is ready
    expect(last_turn(page, "completed")).to_contain_text("A red square.")
    parts = scripted.model.requests[-1]["messages"][-1]["content"]
    heads = [part["image_url"]["url"].partition(",")[0] for part in parts if part["type"] == "image_url"]
    assert heads == ["data:image/png;base64", "data:image/jpeg;base64"]
    expect(thumbnail(page)).to_have_count(2)
    thumbnail(page).last.scroll_into_view_if_needed()
    thumbnail(page).last.evaluate("image => image.decode()")
    assert thumbnail(page).last.evaluate("image => image.naturalWidth") == 2048

    page.set_input_files("#composer-files", photo)
    expect(page.locator(".attached")).to_have_text(["IMG 1.jpg×"])
    expect(page.locator("#composer-note")).to_contain_text("IMG 1.jpg was scaled down")
    page.set_input_files("#composer-files", [{**photo, "name": f"IMG {number}.png"} for number in (2, 3, 4)])
    expect(page.locator("#composer-note")).to_have_text(
        "3 pictures were scaled down, so that models can see them."
        " To keep the originals, upload them in Files."
    )
    expect(page.locator("#composer-note[data-quiet]")).to_have_count(1)  # it is no refusal
    expect(page.get_by_text("Larger ones go to the agent as files")).to_be_hidden()


def test_on_a_phone_several_pictures_are_all_in_view(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.goto("/")
    pictures = [{**PICTURE, "name": f"photo {number}.png"} for number in range(10)]
    page.set_input_files("#composer-files", pictures)  # type: ignore[arg-type]
    chips = page.locator("#composer-attached > li")
    expect(chips.locator("img")).to_have_count(10)
    for chip in chips.all():
        expect(chip).to_be_in_viewport(ratio=1)
    chips.first.get_by_role("button", name="Remove photo 0.png").tap()
    expect(chips).to_have_count(9)


def test_a_title_changes_in_every_tab(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Sorted."), Reply(text="Yes."))
    scripted.model.title = Reply(text="Sorting the notes")
    page = visitors.enter(scripted)
    begin(page, "Please sort my notes")
    second = visitors.enter(scripted)
    second.goto(page.url)
    elsewhere = visitors.enter(scripted)
    for tab in (page, second):
        expect(tab.locator("#title")).to_have_text("Sorting the notes")
        expect(tab).to_have_title("Sorting the notes")
    scripted.model.title = Reply(text="")
    begin(elsewhere, "Another one")
    at_rest(elsewhere)
    page.press("body", "F2")
    expect(page.locator(".rename")).to_have_value("Sorting the notes")
    page.fill(".rename", "My notes")
    page.press(".rename", "Enter")
    row = f'[data-conversation="{page.url.split("/")[-2]}"]'
    for tab in (page, second):
        expect(tab.locator("#title")).to_have_text("My notes")
        expect(tab).to_have_title("My notes")
        expect(tab.locator(f"#sidebar {row} [aria-current]")).to_contain_text("My notes")
    expect(elsewhere.locator(f"#sidebar {row}")).to_contain_text("My notes")
    expect(elsewhere.locator("#title")).to_have_text("Another one")
    send(page, "more")
    at_rest(page)
    expect(page.locator("#title")).to_have_text("My notes")
