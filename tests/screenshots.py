"""The product's pictures: `python -m tests.screenshots [--all DIR]`.

Without an argument it draws those of the documentation: `docs/screenshot.png` and `docs/images`. With `--all`
it draws the main pages, wide and narrow, light and dark, in both languages, to look through. An error in the
browser's console, such as a breach of the content security policy, fails the run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from chat.demo.reply import Reply
from tests.browser.talk import choose_profile
from tests.chromium import chromium
from tests.model_server import ScriptedModel

ROOT = Path(__file__).resolve().parent.parent
README_PICTURE = ROOT / "docs" / "screenshot.png"
TOUR = ROOT / "docs" / "images"
HEIGHTS = {1280: 800, 390: 844}
README_ASKED = "Write a small script that counts words, and tests for it"
REFUSED = Reply(status=401, body={"error": {"message": "Incorrect API key provided", "type": "auth"}})
# What is asked for in the pictures: work that raises a question, its answer, and what fills the list.
ASKED = {
    "en": ["Refactor these five files", "Keep the new version"],
    "zh-hans": ["重构这五个文件", "保留新版本"],
}
OTHERS = {
    "en": [
        "Make a small Python program with tests in the workspace and run them",
        "First make a plan, then look around, read the files and write a summary",
        "What can you do?",
    ],
    "zh-hans": ["写一个带测试的 Python 小程序并运行测试", "先制定计划，然后查看文件并写一份总结", "你好"],
}
TRANSLATED = {"new", "conversation", "plan", "files", "board"}  # pages with a picture in the Chinese tour
IN_THE_TOUR = {*TRANSLATED, "list", "search", "share", "usage", "statistics", "preferences"} | {
    "profiles",
    "profile",
    "connections",
    "connection",
    "mcp-server",
}
ASKS_FIRST = {"en": "Asks first", "zh-hans": "先问再做"}


@dataclass(frozen=True)
class View:
    """How a page is looked at."""

    width: int
    scheme: str
    language: str

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}-{self.language}"


def views(language: str) -> list[View]:
    """Every view in a language."""
    return [View(width, scheme, language) for width in HEIGHTS for scheme in ("light", "dark")]


def pages(talk: str) -> dict[str, str]:
    """The addresses of the pages by the names of their pictures, with a conversation's address."""
    return {
        "new": "/",
        "conversation": talk,
        "plan": f"{talk}plan/",
        "files": f"{talk}files/",
        "share": f"{talk}share/",
        "board": "/board/",
        "list": "/conversations/",
        "search": "/conversations/?q=stock",
        "import": "/conversations/import/",
        "usage": "/settings/usage/",
        "statistics": "/settings/plans/",
        "profiles": "/settings/profiles/",
        "profile": "/settings/profiles/add/",
        "connections": "/settings/connections/",
        "connection": "/settings/connections/add/",
        "mcp-servers": "/settings/mcp/",
        "mcp-server": "/settings/mcp/add/",
        "users": "/settings/users/",
        "user": "/settings/users/1/",
        "preferences": "/settings/preferences/",
        "password": "/settings/preferences/password/",
        "sign-out": "/accounts/sign-out/",
    }


@contextmanager
def serving(data: Path, language: str, **surroundings: str) -> Iterator[str]:
    """The site on a free port; gives its sign-in link."""
    # "serve" sets itself up from these alone, so that a developer's key or data plays no part.
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = {"DATA_DIR": str(data), "LANGUAGE_CODE": language, "PYTHONUNBUFFERED": "1", **surroundings}
    command = [sys.executable, "manage.py", "serve", "--bind", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=ROOT, env=kept | own, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield next(line.split()[-1] for line in server.stdout if line.startswith("Sign in:"))
        finally:
            server.terminate()


class Site:
    """The served site, as one signed-in person sees it."""

    def __init__(self, browser: Browser, link: str) -> None:
        self.browser = browser
        self.address = link.partition("/sign-in/")[0]
        self.errors: list[str] = []
        context = browser.new_context()
        context.new_page().goto(link)
        self.signed_in = context.storage_state()
        context.close()

    @contextmanager
    def page(self, view: View, signed_in: bool = True) -> Iterator[Page]:
        """A fresh page, whose errors are noted."""
        context = self.browser.new_context(
            viewport={"width": view.width, "height": HEIGHTS[view.width]},
            locale=view.language,
            color_scheme="dark" if view.scheme == "dark" else "light",
            reduced_motion="reduce",
            device_scale_factor=2 if view.width < 500 else 1,
            has_touch=view.width < 500,
            is_mobile=view.width < 500,
            storage_state=self.signed_in if signed_in else None,
        )
        page = context.new_page()
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        yield page
        context.close()

    def begin(self, page: Page, text: str) -> str:
        """Start a conversation; its address."""
        page.goto(f"{self.address}/")
        page.fill("#composer-text", text)
        page.click("#send")
        page.wait_for_url("**/conversations/*/")
        return page.url

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)


def visit(page: Page, site: Site, path: str) -> None:
    page.goto(path if "://" in path else f"{site.address}{path}")
    page.wait_for_load_state("networkidle")


def rest(page: Page) -> None:
    """Wait until nothing runs and the page is live."""
    page.wait_for_selector("#conversation[data-status='idle'] #connection[data-state='live']", timeout=90_000)


def until_half_done(page: Page, tool: str) -> None:
    """Wait for the moment that shows the product best: an item is done and `tool` works on another one."""
    page.wait_for_selector("#todo-panel .todo[data-status='completed'] + .todo[data-status='in_progress']")
    page.wait_for_selector(f".tool-call[data-tool='{tool}']", state="attached")
    page.wait_for_selector("#connection[data-state='live']")


def fill(site: Site, view: View) -> str:
    """Past conversations, and one with a question and its answer; the address of that one."""
    first, answer = ASKED[view.language]
    with site.page(view) as page:
        for text in OTHERS[view.language]:
            site.begin(page, text)
            rest(page)
        address = site.begin(page, first)
        rest(page)
        page.fill("#composer-text", answer)
        page.click("#send")
        page.wait_for_selector("article.turn >> nth=1")
        rest(page)
    return address


def draw_still(site: Site, view: View, talk: str, folder: Path) -> None:
    """The pages on which nothing moves."""
    with site.page(view) as page:
        for name, path in pages(talk).items():
            visit(page, site, path)
            page.screenshot(path=folder / f"{name}-{view}.png")
        page.goto(talk)
        rest(page)
        page.click("[popovertarget='conversation-menu']")
        page.screenshot(path=folder / f"menu-{view}.png")
        page.click("#conversation-menu [command='show-modal']")
        page.screenshot(path=folder / f"delete-{view}.png")
    with site.page(view, signed_in=False) as page:
        page.goto(f"{site.address}/accounts/login/")
        page.screenshot(path=folder / f"login-{view}.png")


def draw_running(site: Site, view: View, picture: Path, asked: str, tool: str) -> None:
    """A turn at work beside its open panel."""
    with site.page(view) as page:
        site.begin(page, asked)
        until_half_done(page, tool)
        page.screenshot(path=picture)
        page.click("#stop")
        rest(page)


def draw_failed(site: Site, view: View, picture: Path) -> None:
    """A turn whose model refused the key."""
    with site.page(view) as page:
        site.begin(page, OTHERS[view.language][0])
        page.wait_for_selector("article.turn[data-status='failed']")
        rest(page)
        page.screenshot(path=picture)


def draw_all(browser: Browser, folder: Path) -> list[str]:
    """Every picture into the folder; the errors that the browser told of."""
    folder.mkdir(parents=True, exist_ok=True)
    errors = []
    for language in ASKED:
        with tempfile.TemporaryDirectory() as data:
            with serving(Path(data), language, DEMO_PACE="0.01") as link:
                site = Site(browser, link)
                talk = fill(site, views(language)[0])
                for view in views(language):
                    draw_still(site, view, talk, folder)
                for view in views(language):
                    draw_running(site, view, folder / f"running-{view}.png", ASKED[language][0], "edit_file")
                errors += site.errors
            errors += draw_refused(browser, Path(data), language, folder)
    return errors


def draw_refused(browser: Browser, data: Path, language: str, folder: Path) -> list[str]:
    """The same site with a model that refuses its key; the errors that the browser told of."""
    with (
        ScriptedModel(answer=lambda _request: REFUSED) as model,
        serving(
            data, language, OPENAI_BASE_URL=model.base_url, OPENAI_API_KEY="wrong", OPENAI_MODEL="m"
        ) as link,
    ):
        site = Site(browser, link)
        for view in views(language):
            draw_failed(site, view, folder / f"failed-{view}.png")
        return site.errors


def draw_documentation(browser: Browser) -> list[str]:
    """The pictures of README and docs; the errors that the browser reported."""
    TOUR.mkdir(parents=True, exist_ok=True)
    errors = []
    for language in ASKED:
        view = View(1280, "light", language)
        with tempfile.TemporaryDirectory() as data, serving(Path(data), language, DEMO_PACE="0.01") as link:
            site = Site(browser, link)
            talk = fill(site, view)
            if language == "en":
                draw_running(site, view, README_PICTURE, README_ASKED, "bash")
                phone = View(390, "dark", language)
                draw_running(site, phone, TOUR / "phone.png", ASKED[language][0], "edit_file")
            draw_approval(site, view)
            draw_tour(site, view, talk)
            errors += site.errors
    return errors


def tour_picture(name: str, view: View) -> Path:
    suffix = "" if view.language == "en" else ".zh-Hans"
    return TOUR / f"{name}{suffix}.png"


def draw_approval(site: Site, view: View) -> None:
    """A call that waits for an answer."""
    with site.page(view) as page:
        page.goto(f"{site.address}/")
        choose_profile(page, ASKS_FIRST[view.language])
        page.fill("#composer-text", OTHERS[view.language][0])
        page.click("#send")
        page.wait_for_selector("#conversation[data-status='waiting']")
        page.screenshot(path=tour_picture("approval", view))


def draw_tour(site: Site, view: View, talk: str) -> None:
    """Every page, as it is after some work."""
    with site.page(view) as page:
        for name in IN_THE_TOUR if view.language == "en" else TRANSLATED:
            visit(page, site, pages(talk)[name])
            page.screenshot(path=tour_picture(name, view))


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw the product's pictures.")
    parser.add_argument("--all", metavar="DIR", type=Path, help="every page in every view, into this folder")
    folder = parser.parse_args().all
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium())
        errors = draw_all(browser, folder) if folder else draw_documentation(browser)
        browser.close()
    for error in errors:
        sys.stderr.write(f"The browser's console: {error}\n")
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
