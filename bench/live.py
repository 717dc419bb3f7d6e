"""The benchmark: `python -m bench.live [--only PARTS] [--short] [--checkout DIR]`; see bench/README.md.

Serves the site in its default set-up with a scripted model, and lets users send messages over sockets as
their pages do. Prints a table, writes JSON, and measures the floor (bench.floor) in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import aiohttp

from bench.budgets import TARGETS
from bench.chromium import browse
from bench.floor import FLOORS, Floor
from bench.processes import Child
from bench.site import HERE, ROOT, Counts, Person, Place, Site
from bench.tab import Page, Sending, Tab, is_idle
from bench.table import table

Figures = dict[str, float]

OTHERS = ("sandbox", "usage", "search", "plans")  # benchmarks of their own, modules beside this one
STREAMS = ("text", "para", "agent", "fast")  # parts that the floor has too
LINGER = 1.0  # seconds after a turn's end in which what belongs to it may still be done
SETTLE = 1.5, 3.0  # seconds for titles, indexing and the like after the first turns; the first if short


@contextlib.contextmanager
def serving_model(folder: Path) -> Iterator[str]:
    """The scripted model in a process of its own; its base address."""
    command = [sys.executable, "-m", "bench.model_server"]
    with Child(command, ROOT, folder / "model.log", os.environ) as child:
        yield f"http{child.line('http')}"


class Crowd:
    """Users of a place, each with a tab on a conversation that has had a first turn, or none if not `opened`.

    An asynchronous context manager. `settle` seconds are left after the first turns for what follows them.
    """

    def __init__(
        self, place: Place, count: int, patience: float, settle: float, *, opened: bool = True
    ) -> None:
        self.opened = opened
        self.place = place
        self.people = place.enrol(count)
        self.patience = patience
        self.settle = settle
        self.tabs: list[Tab] = []

    async def __aenter__(self) -> Crowd:
        unbounded = aiohttp.TCPConnector(limit=0)  # else a hundred sockets leave no room for a page
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), connector=unbounded)
        room = asyncio.Semaphore(4)

        async def begin(person: Person) -> Tab:
            async with room:
                tab = await self.begin(person, "bench note")
                if not self.opened:
                    await tab.close()
                return tab

        try:
            self.tabs = await asyncio.gather(*map(begin, self.people))
        except BaseException:
            await self.session.close()
            raise
        await asyncio.sleep(self.settle)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(tab.close() for tab in self.tabs))
        await self.session.close()

    async def begin(self, person: Person, text: str) -> Tab:
        """Begin a conversation as a browser does, with the form; the tab on it, when its turn has ended."""
        form = {"text": text, "client_id": str(uuid.uuid4())}
        headers = person.headers | {"Origin": self.place.address}
        address = f"{self.place.address}/"
        async with self.session.post(address, data=form, headers=headers, allow_redirects=False) as answer:
            if answer.status != 302:
                raise RuntimeError(f"the form was answered with {answer.status}:\n{await answer.text()}")
            conversation = answer.headers["Location"].strip("/").rpartition("/")[2]
        tab = await self.enter(person, conversation)
        if not is_idle(tab.page.html):
            await tab.until(is_idle, 0, self.patience)
        return tab

    async def enter(self, person: Person, conversation: str) -> Tab:
        """Load a conversation's page, then open its socket."""
        headers = person.headers | {"Origin": self.place.address}
        address = f"{self.place.address}/conversations/{conversation}/"
        async with self.session.get(address, headers=headers) as answer:
            answer.raise_for_status()
            page = Page(conversation, await answer.text())
        return await Tab.open(self.session, f"{self.place.address}{page.socket}", headers, page)

    async def say(self, text: str) -> list[Sending]:
        """Everybody sends the text at once; what they sent, when all turns have ended or time is up."""
        sendings = await asyncio.gather(*(tab.send(text) for tab in self.tabs))
        await asyncio.gather(*(sending.finish(self.patience) for sending in sendings))
        return sendings

    async def stop(self, sendings: list[Sending]) -> None:
        """Stop the turns that have not ended, so that they do not disturb what is measured next."""
        for person, sending in zip(self.people, sendings, strict=True):
            if sending.end is None:
                address = f"{self.place.address}/conversations/{sending.tab.page.conversation}/stop/"
                headers = person.headers | {"Origin": self.place.address}
                async with self.session.post(address, headers=headers) as answer:
                    answer.raise_for_status()

    async def open(self) -> None:
        """Open one more tab on each conversation."""
        for person, tab in zip(self.people, list(self.tabs), strict=False):
            self.tabs.append(await self.enter(person, tab.page.conversation))
        await asyncio.sleep(self.settle)


class Bench:
    """One run: what is measured, how long, and on what."""

    def __init__(self, model: str, *, short: bool) -> None:
        self.model = model
        self.short = short
        self.patience = 60.0 if short else 120.0
        self.settle = SETTLE[0 if short else 1]
        self.tokens = 150 if short else 500
        self.texts: dict[str, Counts] = {}

    def _crowd(self, place: Place, count: int) -> Crowd:
        return Crowd(place, count, self.patience, self.settle)

    async def turns(self, place: Place, name: str, text: str, count: int) -> Figures:
        """Turns that so many users start together, measured."""
        async with self._crowd(place, count) as crowd:
            return await self.measured(crowd, name, text)

    async def measured(self, crowd: Crowd, name: str, text: str) -> Figures:
        """A turn of everybody's in a crowd that is warmed up, measured."""
        place, count = crowd.place, len(crowd.tabs)
        counts, cpu = place.counts(), place.child.cpu
        sendings = await crowd.say(text)
        await asyncio.sleep(LINGER)
        spent, asked = place.child.cpu - cpu, place.counts() - counts
        await crowd.stop(sendings)
        figures = of_turns(sendings, spent)
        if asked.statements:
            self.texts[name] = asked
            figures |= {f"{kind} per turn": value / count for kind, value in _kinds(asked)}
        return {f"{name}: {kind}": value for kind, value in figures.items()}

    async def counted(self, place: Place) -> Figures:
        """What does not depend on the machine: of a text turn, an agent's turn, and idle tabs."""
        async with self._crowd(place, 1) as crowd:
            figures = await self.measured(crowd, "text 1", f"bench text {self.tokens} 50")
            figures |= await self.measured(crowd, "agent 1", "bench agent 10 50 50")
        return figures | await self.idle_tabs(place, 5, 4.0)

    async def text(self, place: Place) -> Figures:
        return await self.turns(place, "text 1", f"bench text {self.tokens} 50", 1)

    def para(self, count: int) -> Callable[[Place], Awaitable[Figures]]:
        async def run(place: Place) -> Figures:
            return await self.turns(place, f"para {count}", f"bench para {self.tokens} 50", count)

        return run

    def agent(self, count: int) -> Callable[[Place], Awaitable[Figures]]:
        async def run(place: Place) -> Figures:
            tokens = 100 if self.short else 400
            return await self.turns(place, f"agent {count}", f"bench agent 10 {tokens} 50", count)

        return run

    async def fast(self, place: Place) -> Figures:
        tokens = 5000 if self.short else 20_000
        return await self.turns(place, "fast", f"bench fast {tokens}", 1)

    async def first(self, place: Place) -> Figures:
        """Short turns one after the other, on a machine that does nothing else."""
        accepted, shown = [], []
        async with self._crowd(place, 1) as crowd:
            for _try in range(5 if self.short else 15):
                [sending] = await crowd.say("bench para 5 50")
                accepted.append(sending.accepted_ms)
                shown.append(_first_text_ms(sending))
                await asyncio.sleep(0.7)
        return {
            "alone: send to accepted, ms": statistics.median(accepted),
            "alone: send to first text, ms": statistics.median(shown),
        }

    async def begin(self, place: Place) -> Figures:
        """A conversation begun as a browser does it: form, page, socket, five tokens."""
        async with self._crowd(place, 1) as crowd:
            counts, at = place.counts(), time.monotonic()
            tab = await crowd.begin(crowd.people[0], "bench text 5 50")
            took = time.monotonic() - at
            await asyncio.sleep(LINGER)
            asked = place.counts() - counts
            await tab.close()
        self.texts["begin"] = asked
        figures = {"form to the end of the turn, ms": 1000 * took, **dict(_kinds(asked))}
        return {f"begin: {kind}": value for kind, value in figures.items()}

    async def idle(self, place: Place) -> Figures:
        """What the site does while nothing is asked of it: with no tab, with one, and with many."""
        seconds = 5.0 if self.short else 30.0
        async with self._crowd(place, 1):
            pass
        await asyncio.sleep(self.settle)
        figures = await self._rest(place, "idle site", seconds)
        for count in (1, 20 if self.short else 50):
            figures |= await self.idle_tabs(place, count, seconds)
        return figures

    async def idle_tabs(self, place: Place, count: int, seconds: float) -> Figures:
        """What the site does for so many open tabs on which nothing happens."""
        async with self._crowd(place, count):
            return await self._rest(place, f"idle tabs {count}", seconds)

    async def _rest(self, place: Place, name: str, seconds: float) -> Figures:
        counts, cpu = place.counts(), place.child.cpu
        await asyncio.sleep(seconds)
        spent, asked = place.child.cpu - cpu, place.counts() - counts
        self.texts[name] = asked
        figures = {"CPU, % of a core": 100 * spent / seconds}
        figures |= {f"{kind} per s": value / seconds for kind, value in _kinds(asked)}
        return {f"{name}: {kind}": value for kind, value in figures.items()}

    async def browser(self, place: Place) -> Figures:
        """What a browser makes of it."""
        return await browse(place, short=self.short)

    async def memory(self, place: Place) -> Figures:
        """Memory after the start, of conversations that have ended, and of idle tabs. Wants a new site."""
        await asyncio.sleep(self.settle)
        start = place.child.rss
        async with Crowd(place, 20, self.patience, self.settle, opened=False):
            before, count = place.child.rss, 20 if self.short else 100
        async with Crowd(place, count, self.patience, self.settle, opened=False) as crowd:
            closed = place.child.rss
            await crowd.open()  # these take what memory is free
            opened = place.child.rss
            for _time in range(2):
                await crowd.open()
            more = place.child.rss
        return {
            "memory: RSS after the start, MB": start / 1e6,
            "memory: KB per idle tab": (more - opened) / (2 * count) / 1e3,
            "memory: KB kept per finished conversation": (closed - before) / count / 1e3,
        }


def _kinds(counts: Counts) -> list[tuple[str, float]]:
    return [
        ("statements", counts.statements),
        ("transaction statements", counts.transactions),
        ("connections", counts.connections),
    ]


def of_turns(sendings: list[Sending], cpu: float) -> Figures:
    """The figures of turns that began together. Those that did not end count as far as they came."""
    ended = [sending for sending in sendings if sending.end is not None]
    arrivals = [sending.arrivals() for sending in sendings]
    tokens = sum(map(len, arrivals))
    figures = {"turns that did not end": float(len(sendings) - len(ended))}
    if not tokens or not ended:
        return figures
    late = sorted(late for shown in arrivals for late, _at in shown)
    lasted = [sending.messages[-1][0] - sending.at for sending in ended]
    speeds = [len(shown) / (shown[-1][1] - shown[0][1] + shown[0][0] / 1000) for shown in arrivals if shown]
    return figures | {
        "tokens": tokens / len(sendings),
        "CPU s per 1,000 tokens": 1000 * cpu / tokens,
        "CPU s per turn": cpu / len(sendings),
        "token to socket, ms p50": _quantile(late, 0.5),
        "token to socket, ms p95": _quantile(late, 0.95),
        "token to socket, ms p99": _quantile(late, 0.99),
        "send to accepted, ms p50": statistics.median(sending.accepted_ms for sending in ended),
        "send to first text, ms p50": statistics.median(map(_first_text_ms, ended)),
        "send to first text, ms max": max(map(_first_text_ms, ended)),
        "a turn lasts, s": statistics.mean(lasted),
        "tokens per s": statistics.mean(speeds),
        "bytes per token": sum(sending.bytes for sending in sendings) / tokens,
        "bytes per token if deflated": sum(sending.deflated for sending in sendings) / tokens,
        "KB per turn": sum(sending.bytes for sending in sendings) / len(sendings) / 1000,
        "messages per turn": sum(len(sending.messages) for sending in sendings) / len(sendings),
    }


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def _first_text_ms(sending: Sending) -> float:
    shown = sending.arrivals()
    return 1000 * (shown[0][1] - sending.at) if shown else float("inf")


def main() -> None:
    """Measure, print and write."""
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="bench-") as name, serving_model(Path(name)) as model:
        run = Run(given, Path(name), model)
        asyncio.run(run.measure())
    sys.stdout.write(table(run.figures, run.floors, TARGETS))
    for scenario in run.bench.texts if given.top else ():
        _print_statements(scenario, run.bench.texts[scenario], given.top)
    for other in OTHERS if given.checkout == ROOT else ():
        if run.is_chosen(other):
            sys.stdout.write(f"\n{other}\n")
            sys.stdout.flush()
            told_to = str(given.json.with_name(f"{other}.json"))
            subprocess.run([sys.executable, "-m", f"bench.{other}", "--json", told_to], cwd=ROOT, check=True)
    sys.exit(f"Failed: {', '.join(run.failed)}" if run.failed else 0)


def _arguments() -> argparse.Namespace:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument(
        "--only", default="", help="parts; a name without number means all numbers: para,agent1"
    )
    reader.add_argument("--short", action="store_true", help="shorter turns, fewer tabs and conversations")
    reader.add_argument("--no-floor", action="store_true", help="leave the floor out")
    reader.add_argument("--checkout", type=Path, default=ROOT, help="another checkout of the site to serve")
    reader.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the site")
    reader.add_argument("--top", type=int, default=0, help="print so many statements of each part, by number")
    reader.add_argument("--where", action="store_true", help="with --top: where they came from (costs CPU)")
    reader.add_argument("--json", type=Path, default=ROOT / "var" / "bench" / "live.json")
    given = reader.parse_args()
    given.checkout = given.checkout.resolve()
    return given


class Run:
    """The chosen parts, on the site and then on the floors. A part that fails is reported and left out."""

    def __init__(self, given: argparse.Namespace, folder: Path, model: str) -> None:
        self.given = given
        self.folder = folder
        self.bench = Bench(model, short=given.short)
        self.parts = _parts(self.bench)
        self.figures: Figures = {}
        self.floors: dict[str, Figures] = {}
        self.failed: list[str] = []

    def is_chosen(self, name: str) -> bool:
        """Whether a part is to be measured."""
        only = self.given.only
        chosen = [wanted.strip() for wanted in only.split(",")]
        return not only or name in chosen or name.rstrip("0123456789") in chosen

    async def measure(self) -> None:
        """Measure the chosen parts. Memory wants a process that has done nothing before."""
        if self.is_chosen("memory"):
            with self._site("fresh") as site:
                await self._part("memory", self.bench.memory(site), self.figures)
        if any(map(self.is_chosen, self.parts)):
            with self._site("site") as site:
                for name in filter(self.is_chosen, self.parts):
                    await self._part(name, self.parts[name](site), self.figures)
        if self.is_chosen("history"):
            await self._part("history", asyncio.to_thread(self._history), self.figures)
        for kind in () if self.given.no_floor else FLOORS:
            await self._of_floor(kind)

    def _site(self, name: str) -> Site:
        more = dict(each.split("=", 1) for each in self.given.env)
        where = self.given.where
        return Site(self.given.checkout, self.folder / name, self.bench.model, where=where, **more)

    async def _part(self, name: str, measuring: Awaitable[Figures], figures: Figures) -> None:
        sys.stderr.write(f"{name}\n")
        try:
            figures |= await measuring
        except Exception as error:  # the other parts are worth having
            sys.stderr.write(f"{name} failed: {error!r}\n")
            self.failed.append(name)
        self._write()

    def _write(self) -> None:
        """Write what there is so far: a run is long, and may be interrupted."""
        told = {"about": _about(self.given), "figures": self.figures, "floors": self.floors}
        self.given.json.parent.mkdir(parents=True, exist_ok=True)
        self.given.json.write_text(json.dumps(told, indent=2) + "\n")

    async def _of_floor(self, kind: str) -> None:
        """The same parts, as far as a relay has them."""
        figures = self.floors[kind] = {}
        if self.is_chosen("memory"):
            with Floor(kind, self.folder, self.bench.model) as floor:
                await self._part(f"memory, {kind}", self.bench.memory(floor), figures)
        with Floor(kind, self.folder, self.bench.model) as floor:
            for name in filter(self.is_chosen, self.parts):
                if name.startswith(STREAMS):
                    await self._part(f"{name}, {kind}", self.parts[name](floor), figures)

    def _history(self) -> Figures:
        """Listing and searching 10,000 conversations, with the site's code: a part of bench.search."""
        told = self.folder / "history.json"
        site = self._site("history")
        words = ["--conversations", "1000" if self.bench.short else "10000", "--pages", "--json", str(told)]
        environment = site.environment | {"PYTHONPATH": str(site.checkout)}
        command = [site.python, str(HERE / "search.py"), *words]
        subprocess.run(command, cwd=site.checkout, env=environment, stdout=subprocess.DEVNULL, check=True)
        found = json.loads(told.read_text())
        return {f"history: {name}": value for name, value in found.items() if "p50" in name or "KB" in name}


def _parts(bench: Bench) -> dict[str, Callable[[Place], Awaitable[Figures]]]:
    streams = {f"para{count}": bench.para(count) for count in (1, 10, 25, 50)}
    agents = {f"agent{count}": bench.agent(count) for count in (1, 10)}
    calm = {"idle": bench.idle, "first": bench.first, "begin": bench.begin, "text1": bench.text}
    return {**calm, "browser": bench.browser, **agents, "fast": bench.fast, **streams}


def _print_statements(name: str, counts: Counts, most: int) -> None:
    sys.stdout.write(f"\n{name}: {counts.statements} statements\n")
    for text, count in counts.texts.most_common(most):
        sys.stdout.write(f"{count:6}  {' '.join(text.split())[:200]}\n")


def _about(given: argparse.Namespace) -> dict[str, object]:
    def git(*words: str) -> str:
        command = ["git", "-C", str(given.checkout), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "commit": git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain") else ""),
        "python": sys.version.split()[0],
        "cores": os.cpu_count(),
        "load of the machine": os.getloadavg()[0],
        "short": given.short,
        "settings": given.env,
    }


if __name__ == "__main__":
    main()
