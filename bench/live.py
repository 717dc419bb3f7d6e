"""What live conversations cost: `python -m bench.live [--only NAMES] [--short] [--checkout DIR]`.

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
from typing import Protocol

import aiohttp

from bench.budgets import TARGETS
from bench.floor import FLOORS, Floor
from bench.processes import Child
from bench.site import ROOT, Counts, Person, Site
from bench.tab import Sending, Tab
from bench.table import table

Figures = dict[str, float]

LINGER = 1.0  # seconds after a turn's end in which what belongs to it may still be done
SETTLE = 3.0  # seconds for titles, indexing and the like after the first turns


class Place(Protocol):
    """Something that serves conversations over sockets."""

    address: str
    child: Child

    def socket_of(self, person: Person) -> str:
        """The address of the socket on a user's conversation."""

    def enrol(self, count: int) -> list[Person]:
        """So many new users."""

    def counts(self) -> Counts:
        """What the database was asked so far."""


@contextlib.contextmanager
def serving_model(folder: Path) -> Iterator[str]:
    """The scripted model in a process of its own; its base address."""
    command = [sys.executable, "-m", "bench.model_server"]
    with Child(command, ROOT, folder / "model.log", os.environ) as child:
        yield f"http{child.line('http')}"


class Crowd:
    """Users of a place, each with an open tab. An asynchronous context manager."""

    def __init__(self, place: Place, count: int) -> None:
        self.place = place
        self.people = place.enrol(count)
        self.tabs: list[Tab] = []

    async def __aenter__(self) -> Crowd:
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        for person in self.people:
            self.tabs.append(await self.enter(person))
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(tab.close() for tab in self.tabs))
        await self.session.close()

    async def enter(self, person: Person) -> Tab:
        """Load the page of a user's conversation, then open its socket."""
        headers = person.headers | {"Origin": self.place.address}
        page = f"{self.place.address}/conversations/{person.conversation}/"
        async with self.session.get(page, headers=headers) as answer:
            answer.raise_for_status()
            await answer.read()
        return await Tab.open(self.session, self.place.socket_of(person), headers)

    async def say(self, text: str, seconds: float) -> list[Sending]:
        """Everybody sends the text at once; what they sent, when all turns have ended or time is up."""
        sendings = await asyncio.gather(*(tab.send(text) for tab in self.tabs))
        await asyncio.gather(*(sending.finish(seconds) for sending in sendings))
        return sendings

    async def warm_up(self, seconds: float) -> None:
        """A first turn for each, a few at a time, which writes the file that is read later."""
        room = asyncio.Semaphore(4)

        async def one(tab: Tab) -> None:
            async with room:
                if not await (await tab.send("bench note")).finish(seconds):
                    raise RuntimeError("a first turn did not end")

        await asyncio.gather(*map(one, self.tabs))
        await asyncio.sleep(SETTLE)


class Bench:
    """One run: what is measured, how long, and on what."""

    def __init__(self, model: str, *, short: bool) -> None:
        self.model = model
        self.short = short
        self.patience = 60.0 if short else 120.0
        self.tokens = 150 if short else 500
        self.texts: dict[str, Counts] = {}

    async def turns(self, place: Place, name: str, text: str, count: int) -> Figures:
        """Turns that so many users start together, measured."""
        async with Crowd(place, count) as crowd:
            await crowd.warm_up(self.patience)
            counts, cpu = place.counts(), place.child.cpu
            sendings = await crowd.say(text, self.patience)
            await asyncio.sleep(LINGER)
            spent, asked = place.child.cpu - cpu, place.counts() - counts
        figures = _of_turns(sendings, spent)
        if asked.statements:
            self.texts[name] = asked
            figures |= {f"{kind} per turn": value / count for kind, value in _kinds(asked)}
        return {f"{name}: {kind}": value for kind, value in figures.items()}

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
        async with Crowd(place, 1) as crowd:
            await crowd.warm_up(self.patience)
            for _try in range(5 if self.short else 15):
                [sending] = await crowd.say("bench para 5 50", self.patience)
                accepted.append(sending.accepted_ms)
                shown.append(_first_text_ms(sending))
                await asyncio.sleep(0.7)
        return {
            "alone: send to accepted, ms": statistics.median(accepted),
            "alone: send to first text, ms": statistics.median(shown),
        }

    async def begin(self, place: Place) -> Figures:
        """A conversation begun as a browser does it: form, page, socket, five tokens."""
        async with Crowd(place, 2) as crowd:
            await crowd.warm_up(self.patience)
            before = place.counts()
            at = time.monotonic()
            tab = await _begin(crowd, "bench text 5 50")
            await tab.until(lambda data: 'data-status="idle"' in data, 0, self.patience)
            took = time.monotonic() - at
            asked = place.counts() - before
            await tab.close()
        self.texts["begin"] = asked
        figures = {"form to the end of the turn, ms": 1000 * took, **dict(_kinds(asked))}
        return {f"begin: {kind}": value for kind, value in figures.items()}

    async def idle(self, place: Place) -> Figures:
        """What the site does while nothing is asked of it: with no tab, with one, and with many."""
        seconds = 5.0 if self.short else 30.0
        async with Crowd(place, 1) as crowd:
            await crowd.warm_up(self.patience)
        await asyncio.sleep(SETTLE)
        figures = await self._rest(place, "idle site", seconds)
        for count in (1, 20 if self.short else 50):
            async with Crowd(place, count):
                await asyncio.sleep(SETTLE)
                figures |= await self._rest(place, f"idle tabs {count}", seconds)
        return figures

    async def _rest(self, place: Place, name: str, seconds: float) -> Figures:
        counts, cpu = place.counts(), place.child.cpu
        await asyncio.sleep(seconds)
        spent, asked = place.child.cpu - cpu, place.counts() - counts
        self.texts[name] = asked
        figures = {"CPU, % of a core": 100 * spent / seconds}
        figures |= {f"{kind} per s": value / seconds for kind, value in _kinds(asked)}
        return {f"{name}: {kind}": value for kind, value in figures.items()}

    async def memory(self, place: Place) -> Figures:
        """Memory after the start, of idle tabs, and of conversations that have ended. Wants a new site."""
        await asyncio.sleep(SETTLE)
        start = place.child.rss
        tabs, talks = (20, 20) if self.short else (100, 100)
        async with Crowd(place, 10):
            await asyncio.sleep(SETTLE)
        warm = place.child.rss
        async with Crowd(place, tabs):
            await asyncio.sleep(SETTLE)
            idle = (place.child.rss - warm) / tabs
        await self._converse(place, 20)
        before = place.child.rss
        await self._converse(place, talks)
        kept = (place.child.rss - before) / talks
        return {
            "memory: RSS after the start, MB": start / 1e6,
            "memory: KB per idle tab": idle / 1e3,
            "memory: KB kept per finished conversation": kept / 1e3,
        }

    async def _converse(self, place: Place, count: int) -> None:
        for _five in range(0, count, 5):
            async with Crowd(place, 5) as crowd:
                await crowd.say("bench fast 100", self.patience)
        await asyncio.sleep(SETTLE)


def _kinds(counts: Counts) -> list[tuple[str, float]]:
    return [
        ("statements", counts.statements),
        ("transaction statements", counts.transactions),
        ("connections", counts.connections),
    ]


def _of_turns(sendings: list[Sending], cpu: float) -> Figures:
    """The figures of turns that began together. Those that did not end count as far as they came."""
    ended = [sending for sending in sendings if sending.end is not None]
    arrivals = [sending.arrivals() for sending in sendings]
    tokens = sum(map(len, arrivals))
    figures = {"turns that did not end": float(len(sendings) - len(ended))}
    if not tokens or not ended:
        return figures
    late = sorted(late for shown in arrivals for late, _at in shown)
    lasted = [sending.messages[-1][0] - sending.at for sending in ended]
    streamed = [shown[-1][1] - shown[0][1] for shown in arrivals if len(shown) > 1]
    return figures | {
        "CPU s per 1,000 tokens": 1000 * cpu / tokens,
        "CPU s per turn": cpu / len(sendings),
        "token to socket, ms p50": _quantile(late, 0.5),
        "token to socket, ms p95": _quantile(late, 0.95),
        "token to socket, ms p99": _quantile(late, 0.99),
        "send to accepted, ms p50": statistics.median(sending.accepted_ms for sending in ended),
        "send to first text, ms p50": statistics.median(map(_first_text_ms, ended)),
        "send to first text, ms max": max(map(_first_text_ms, ended)),
        "a turn lasts, s": statistics.mean(lasted),
        "tokens per s": tokens / sum(streamed) * len(streamed) / len(sendings) if sum(streamed) else 0.0,
        "bytes per token": sum(sending.bytes for sending in sendings) / tokens,
        "bytes per token if deflated": sum(sending.deflated for sending in sendings) / tokens,
        "messages per turn": sum(len(sending.messages) for sending in sendings) / len(sendings),
    }


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def _first_text_ms(sending: Sending) -> float:
    shown = sending.arrivals()
    return 1000 * (shown[0][1] - sending.at) if shown else float("inf")


async def _begin(crowd: Crowd, text: str) -> Tab:
    person = crowd.people[0]
    headers = person.headers | {"Origin": crowd.place.address}
    form = {"text": text, "client_id": str(uuid.uuid4())}
    address = f"{crowd.place.address}/"
    async with crowd.session.post(address, data=form, headers=headers, allow_redirects=False) as answer:
        if answer.status != 302:
            raise RuntimeError(f"the form was answered with {answer.status}:\n{await answer.text()}")
        talk = answer.headers["Location"].rstrip("/").rpartition("/")[2]
    return await crowd.enter(Person(person.session, talk))


def main() -> None:
    """Measure, print and write."""
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        with serving_model(folder) as model:
            bench = Bench(model, short=given.short)
            figures, floors = asyncio.run(_measure(bench, given, folder))
    sys.stdout.write(table(figures, floors, TARGETS))
    for scenario in bench.texts if given.top else ():
        _print_statements(scenario, bench.texts[scenario], given.top)
    told = {"about": _about(given), "figures": figures, "floors": floors}
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(told, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--only", default="", help="parts, by the beginning of their names: para,agent,idle")
    reader.add_argument("--short", action="store_true", help="shorter turns, fewer tabs")
    reader.add_argument("--no-floor", action="store_true", help="leave the floor out")
    reader.add_argument("--checkout", type=Path, default=ROOT, help="another checkout of the site to serve")
    reader.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the site")
    reader.add_argument("--top", type=int, default=0, help="print so many statements of each part, by number")
    reader.add_argument("--where", action="store_true", help="with --top: where they came from (costs CPU)")
    reader.add_argument("--json", type=Path, default=ROOT / "var" / "bench" / "live.json")
    return reader.parse_args()


async def _measure(
    bench: Bench, given: argparse.Namespace, folder: Path
) -> tuple[Figures, dict[str, Figures]]:
    figures: Figures = {}
    floors: dict[str, Figures] = {}
    parts = _parts(bench)
    chosen = [name for name in [*parts, "memory"] if _is_chosen(name, given.only)]
    surroundings = dict(each.split("=", 1) for each in given.env)
    if "memory" in chosen:
        with Site(given.checkout, folder / "fresh", bench.model, **surroundings) as site:
            figures |= await bench.memory(site)
    with Site(given.checkout, folder / "site", bench.model, where=given.where, **surroundings) as site:
        for name in (name for name in chosen if name in parts):
            _say(name)
            figures |= await parts[name](site)
    for kind in () if given.no_floor else FLOORS:
        with Floor(kind, folder, bench.model) as floor:
            floors[kind] = {}
            for name in (name for name in chosen if name.startswith(("text", "para", "agent", "fast"))):
                _say(f"{name}, {kind}")
                floors[kind] |= await parts[name](floor)
            if "memory" in chosen:
                floors[kind] |= await bench.memory(floor)
    return figures, floors


def _parts(bench: Bench) -> dict[str, Callable[[Place], Awaitable[Figures]]]:
    streams = {f"para{count}": bench.para(count) for count in (1, 10, 25, 50)}
    agents = {f"agent{count}": bench.agent(count) for count in (1, 10)}
    return {
        "idle": bench.idle,
        "first": bench.first,
        "begin": bench.begin,
        "text1": bench.text,
        **agents,
        "fast": bench.fast,
        **streams,
    }


def _is_chosen(name: str, only: str) -> bool:
    return not only or any(name.startswith(wanted.strip()) for wanted in only.split(","))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


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
        "load at the end": os.getloadavg()[0],
        "short": given.short,
        "settings": given.env,
    }


if __name__ == "__main__":
    main()
