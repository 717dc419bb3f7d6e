"""The cost of live conversations in a browser: latency from a token's writing to its display, and CPU."""

from __future__ import annotations

import time
from typing import Any

from playwright.async_api import CDPSession, Page, async_playwright

from bench.model_server import CYCLE
from bench.site import Person, Server
from tests.chromium import chromium

# Records in each frame after a change which tokens are on the page.
WATCH = """() => {
  window.benchShown = {};
  let due = false;
  const look = () => {
    due = false;
    const now = performance.timeOrigin + performance.now();
    const text = [...document.querySelectorAll(".message[data-role='assistant'] .message__body")].at(-1);
    for (const [, token] of (text?.textContent ?? "").slice(-2000).matchAll(/t(\\d{6}\\.\\d{3})/g)) {
      benchShown[token] ??= now;
    }
  };
  new MutationObserver(() => {
    if (!due) requestAnimationFrame(look);
    due = true;
  }).observe(document.getElementById("transcript"), { childList: true, subtree: true, characterData: true });
}"""
IDLE = "#conversation[data-status='idle']"
LOADED = """() => {
  const all = [performance.getEntriesByType("navigation")[0], ...performance.getEntriesByType("resource")];
  return { requests: all.length, bytes: all.reduce((sum, each) => sum + each.transferSize, 0) };
}"""


async def browse(site: Server, *, short: bool) -> dict[str, float]:
    person, *users = site.enrol(4)
    figures: dict[str, float] = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**chromium(as_users_have_it=True))
        figures |= await _first_load(await _page(browser, site, person))
        tokens = 150 if short else 500
        turns = {"text": f"bench text {tokens} 50", "para": f"bench para {tokens} 50"}
        if not short:
            turns["3,000 tokens at 100/s"] = "bench para 3000 100"
        for (name, text), user in zip(turns.items(), users, strict=False):
            page = await _page(browser, site, user)
            await page.goto("/")
            await page.locator("#composer textarea").fill("bench note")
            await page.locator("#send").click()
            await page.wait_for_url("**/conversations/**")
            await page.locator(IDLE).wait_for(state="attached")
            shown = await _turn(page, text)
            figures |= {f"browser, {name}: {kind}": value for kind, value in shown.items()}
            await page.context.close()
        await browser.close()
    return figures


async def _page(browser: Any, site: Server, person: Person) -> Page:
    context = await browser.new_context(base_url=site.address)
    cookie = {"name": "sessionid", "value": person.session, "url": site.address}
    await context.add_cookies([cookie])
    page: Page = await context.new_page()
    page.set_default_timeout(120_000)
    return page


async def _first_load(page: Page) -> dict[str, float]:
    started = time.monotonic()
    await page.goto("/")
    await page.locator("#composer textarea").fill("a")
    usable = time.monotonic() - started
    await page.wait_for_load_state("networkidle")
    loaded = await page.evaluate(LOADED)
    metrics = await _metrics(await page.context.new_cdp_session(page))
    await page.context.close()
    return {
        "first load: KB": loaded["bytes"] / 1000,
        "first load: requests": loaded["requests"],
        "first load: composer usable, ms": 1000 * usable,
        "first load: JS heap, MB": metrics["JSHeapUsedSize"] / 1e6,
    }


async def _turn(page: Page, text: str) -> dict[str, float]:
    await _send(page, "bench para 10 50")
    await page.evaluate(WATCH)
    session = await page.context.new_cdp_session(page)
    before, started = await _metrics(session), time.monotonic()
    await _send(page, text)
    duration = time.monotonic() - started
    after = await _metrics(session)
    shown: dict[str, float] = await page.evaluate("() => benchShown")
    clock_offset = 1000 * (time.time() - time.monotonic())  # of the page's clock to the tokens'
    times = [(at - clock_offset, (at - clock_offset - float(token)) % CYCLE) for token, at in shown.items()]
    # Earlier ones are from the previous turn.
    latencies = sorted(latency for at, latency in times if at - latency >= 1000 * started)
    if not latencies:
        return {"tokens shown": 0}
    spent = {name: 1000 * (after[name] - before[name]) / len(latencies) for name in before}
    return {
        "tokens shown": len(latencies),
        "token to shown, ms p50": latencies[len(latencies) // 2],
        "token to shown, ms p95": latencies[int(0.95 * len(latencies))],
        "main thread, s per 1,000 tokens": spent["TaskDuration"],
        "of it scripts": spent["ScriptDuration"],
        "of it styles and layout": spent["LayoutDuration"] + spent["RecalcStyleDuration"],
        "a turn lasts, s": duration,
    }


async def _send(page: Page, text: str) -> None:
    ended_turns = await page.locator("article.turn").count()
    await page.locator("#composer textarea").fill(text)
    await page.locator("#send").click()
    turn = page.locator("article.turn").nth(ended_turns)
    await turn.and_(page.locator("[data-status='completed']")).wait_for(state="attached")
    await page.locator(IDLE).wait_for(state="attached")


async def _metrics(session: CDPSession) -> dict[str, float]:
    # CPU time of the thread, not wall-clock time.
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    response = await session.send("Performance.getMetrics")
    names = ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "JSHeapUsedSize")
    return {each["name"]: each["value"] for each in response["metrics"] if each["name"] in names}
