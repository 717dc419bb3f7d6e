"""Chromium, a site with the demo, a site with a scripted model; each started once for this folder."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.line import Line
from tests.browser.site import CUT_EARLY, Site, Visitors
from tests.chromium import chromium
from tests.model_server import NO_TITLE, ScriptedModel
from tests.serving import serving


# Playwright's loop may not outlive this folder: asynchronous tests of other folders need one of their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(**chromium())
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def demo(browser: Browser) -> Iterator[Site]:
    """The site as `make run` starts it."""
    with serving() as served:
        yield Site(served, browser)


@pytest.fixture(scope="package")
def site_of_model(browser: Browser) -> Iterator[Site]:
    """The site with a model that its tests script."""
    with (
        ScriptedModel() as model,
        Line(model_port(model)) as line,
        serving(OPENAI_BASE_URL=f"{line.address}/v1", OPENAI_MODEL="scripted") as served,
    ):
        site = Site(served, browser)
        site.model, site.way_to_model = model, line
        yield site


@pytest.fixture
def scripted(site_of_model: Site) -> Iterator[Site]:
    """That site, with nothing left from other tests, its model within reach; in the end nothing works."""
    model = site_of_model.model
    site_of_model.way_to_model.port = model_port(model)
    model.answer = None
    model.title = NO_TITLE
    model.replies.clear()
    model.take_requests()
    site_of_model.forget_choices()
    yield site_of_model
    site_of_model.end_turns()


@pytest.fixture
def visitors(browser: Browser) -> Iterator[Visitors]:
    """People with browsers; the test fails if one of these complains."""
    people = Visitors(browser)
    yield people
    people.leave()


@pytest.fixture
def line(scripted: Site, visitors: Visitors) -> Iterator[Line]:
    """A line to that site, which can be cut, perhaps while the page fetches something."""
    visitors.expected += ["Failed to load resource: net::ERR_", "htmx:error: Failed to fetch", CUT_EARLY]
    with Line(scripted.served.port) as made:
        yield made


def model_port(model: ScriptedModel) -> int:
    """Where the model listens."""
    return urlsplit(model.base_url).port or 0
