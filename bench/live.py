"""The benchmark: `python -m bench.live [--only PARTS] [--short] [--checkout DIR]`; see bench/README.md.

Serves the site in its default setup with a scripted model. Simulated users send messages over sockets like a
page. Prints a table, writes JSON, and measures the floor (bench.floor) in the same run.
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
from bench.compare import beside_before
from bench.floor import FLOORS, Floor
from bench.processes import Child
from bench.site import HERE, ROOT, Counts, Person, Server, Site
from bench.tab import Page, Sending, Tab, is_idle
from bench.table import table

Figures = dict[str, float]

OTHERS = ("sandbox", "usage", "search", "plans")  # separate benchmarks
STREAMS = ("text", "para", "agent", "fast")  # parts that are also measured on the floor
LINGER = 1.0  # seconds after a turn's end for its remaining work
SETTLE = 1.5, 3.0  # seconds for titles and indexing after the first turns: with --short, and without


@contextlib.contextmanager
def serving_model(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "bench.model_server"]
    with Child(command, ROOT, folder / "model.log", os.environ) as child:
        yield f"http{child.line('http')}"


class Crowd:
    """Users with a tab each on a conversation with one turn; without tabs unless `opened`.

    An asynchronous context manager. It waits `settle` seconds after the first turns.
    """

    def __init__(
        self, server: Server, count: int, patience: float, settle: float, *, opened: bool = True
    ) -> None:
        self.opened = opened
        self.server = server
        self.users = server.enrol(count)
        self.patience = patience
        self.settle = settle
        self.tabs: list[Tab] = []

    async def __aenter__(self) -> Crowd:
        unbounded = aiohttp.TCPConnector(limit=0)  # else 100 sockets leave no connection for pages
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), connector=unbounded)
        limit = asyncio.Semaphore(4)

        async def begin(person: Person) -> Tab:
            async with limit:
                tab = await self.begin(person, "bench note")
                if not self.opened:
                    await tab.close()
                return tab

        try:
            self.tabs = await asyncio.gather(*map(begin, self.users))
        except BaseException:
            await self.session.close()
            raise
        await asyncio.sleep(self.settle)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(tab.close() for tab in self.tabs))
        await self.session.close()

    async def begin(self, person: Person, text: str) -> Tab:
        form = {"text": text, "client_id": str(uuid.uuid4())}
        headers = person.headers | {"Origin": self.server.address}
        address = f"{self.server.address}/"
        async with self.session.post(address, data=form, headers=headers, allow_redirects=False) as answer:
            if answer.status != 302:
                raise RuntimeError(f"the form was answered with {answer.status}:\n{await answer.text()}")
            conversation = answer.headers["Location"].strip("/").rpartition("/")[2]
        tab = await self.enter(person, conversation)
        if not is_idle(tab.page.html):
            await tab.until(is_idle, 0, self.patience)
        return tab

    async def enter(self, person: Person, conversation: str) -> Tab:
        headers = person.headers | {"Origin": self.server.address}
        address = f"{self.server.address}/conversations/{conversation}/"
        async with self.session.get(address, headers=headers) as answer:
            answer.raise_for_status()
            page = Page(conversation, await answer.text())
        return await Tab.open(self.session, f"{self.server.address}{page.socket}", headers, page)

    async def send_all(self, text: str) -> list[Sending]:
        sendings = await asyncio.gather(*(tab.send(text) for tab in self.tabs))
        await asyncio.gather(*(sending.finish(self.patience) for sending in sendings))
        return sendings

    async def stop(self, sendings: list[Sending]) -> None:
        for person, sending in zip(self.users, sendings, strict=True):
            if sending.end is None:
                address = f"{self.server.address}/conversations/{sending.tab.page.conversation}/stop/"
                headers = person.headers | {"Origin": self.server.address}
                async with self.session.post(address, headers=headers) as answer:
                    answer.raise_for_status()

    async def open(self) -> None:
        for person, tab in zip(self.users, list(self.tabs), strict=False):
            self.tabs.append(await self.enter(person, tab.page.conversation))
        await asyncio.sleep(self.settle)


class Bench:
    def __init__(self, model: str, *, short: bool) -> None:
        self.model = model
        self.short = short
        self.patience = 60.0 if short else 120.0
        self.settle = SETTLE[0 if short else 1]
        self.tokens = 150 if short else 500
        self.texts: dict[str, Counts] = {}

    def _crowd(self, server: Server, count: int) -> Crowd:
        return Crowd(server, count, self.patience, self.settle)

    async def turns(self, server: Server, name: str, text: str, count: int) -> Figures:
        async with self._crowd(server, count) as crowd:
            return await self.measure(crowd, name, text)

    async def measure(self, crowd: Crowd, name: str, text: str) -> Figures:
        server, count = crowd.server, len(crowd.tabs)
        counts, cpu = server.counts(), server.child.cpu
        sendings = await crowd.send_all(text)
        await asyncio.sleep(LINGER)
        cpu_used, queries = server.child.cpu - cpu, server.counts() - counts
        await crowd.stop(sendings)
        figures = turn_figures(sendings, cpu_used)
        if queries.statements:
            self.texts[name] = queries
            figures |= {f"{kind} per turn": value / count for kind, value in _kinds(queries)}
        return {f"{name}: {kind}": value for kind, value in figures.items()}

    async def counted(self, server: Server) -> Figures:
        """The figures that do not depend on the machine: of a text turn, an agent's turn, and idle tabs."""
        async with self._crowd(server, 1) as crowd:
            figures = await self.measure(crowd, "text 1", f"bench text {self.tokens} 50")
            figures |= await self.measure(crowd, "agent 1", "bench agent 10 50 50")
        return figures | await self.idle_tabs(server, 5, 4.0)

    async def text(self, server: Server) -> Figures:
        return await self.turns(server, "text 1", f"bench text {self.tokens} 50", 1)

    def para(self, count: int) -> Callable[[Server], Awaitable[Figures]]:
        async def run(server: Server) -> Figures:
            return await self.turns(server, f"para {count}", f"bench para {self.tokens} 50", count)

        return run

    def agent(self, count: int) -> Callable[[Server], Awaitable[Figures]]:
        async def run(server: Server) -> Figures:
            tokens = 100 if self.short else 400
            return await self.turns(server, f"agent {count}", f"bench agent 10 {tokens} 50", count)

        return run

    async def fast(self, server: Server) -> Figures:
        tokens = 5000 if self.short else 20_000
        return await self.turns(server, "fast", f"bench fast {tokens}", 1)

    async def first(self, server: Server) -> Figures:
        accepted, shown = [], []
        async with self._crowd(server, 1) as crowd:
            for _try in range(5 if self.short else 15):
                [sending] = await crowd.send_all("bench para 5 50")
                accepted.append(sending.accepted_ms)
                shown.append(_first_text_ms(sending))
                await asyncio.sleep(0.7)
        return {
            "alone: send to accepted, ms": statistics.median(accepted),
            "alone: send to first text, ms": statistics.median(shown),
        }

    async def begin(self, server: Server) -> Figures:
        async with self._crowd(server, 1) as crowd:
            counts, started = server.counts(), time.monotonic()
            tab = await crowd.begin(crowd.users[0], "bench text 5 50")
            elapsed = time.monotonic() - started
            await asyncio.sleep(LINGER)
            queries = server.counts() - counts
            await tab.close()
        self.texts["begin"] = queries
        figures = {"form to the end of the turn, ms": 1000 * elapsed, **dict(_kinds(queries))}
        return {f"begin: {kind}": value for kind, value in figures.items()}

    async def idle(self, server: Server) -> Figures:
        seconds = 5.0 if self.short else 30.0
        async with self._crowd(server, 1):
            pass
        await asyncio.sleep(self.settle)
        figures = await self._idle_figures(server, "idle site", seconds)
        for count in (1, 20 if self.short else 50):
            figures |= await self.idle_tabs(server, count, seconds)
        return figures

    async def idle_tabs(self, server: Server, count: int, seconds: float) -> Figures:
        async with self._crowd(server, count):
            return await self._idle_figures(server, f"idle tabs {count}", seconds)

    async def _idle_figures(self, server: Server, name: str, seconds: float) -> Figures:
        counts, cpu = server.counts(), server.child.cpu
        await asyncio.sleep(seconds)
        cpu_used, queries = server.child.cpu - cpu, server.counts() - counts
        self.texts[name] = queries
        figures = {"CPU, % of a core": 100 * cpu_used / seconds}
        figures |= {f"{kind} per s": value / seconds for kind, value in _kinds(queries)}
        return {f"{name}: {kind}": value for kind, value in figures.items()}

    async def browser(self, server: Server) -> Figures:
        return await browse(server, short=self.short)

    async def memory(self, server: Server) -> Figures:
        """Memory after the start, per ended conversation, and per idle tab. Needs a new site."""
        await asyncio.sleep(self.settle)
        start = server.child.rss
        async with Crowd(server, 20, self.patience, self.settle, opened=False):
            before, count = server.child.rss, 20 if self.short else 100
        async with Crowd(server, count, self.patience, self.settle, opened=False) as crowd:
            closed = server.child.rss
            await crowd.open()  # uses up free memory first
            after_opening = server.child.rss
            for _time in range(2):
                await crowd.open()
            after_more = server.child.rss
        return {
            "memory: RSS after the start, MB": start / 1e6,
            "memory: KB per idle tab": (after_more - after_opening) / (2 * count) / 1e3,
            "memory: KB kept per finished conversation": (closed - before) / count / 1e3,
        }


def _kinds(counts: Counts) -> list[tuple[str, float]]:
    return [
        ("statements", counts.statements),
        ("transaction statements", counts.transactions),
        ("connections", counts.connections),
    ]


def turn_figures(sendings: list[Sending], cpu: float) -> Figures:
    """The figures of turns that started together. Unfinished turns count as far as they came."""
    finished = [sending for sending in sendings if sending.end is not None]
    arrivals = [sending.arrivals() for sending in sendings]
    tokens = sum(map(len, arrivals))
    figures = {"turns that did not end": float(len(sendings) - len(finished))}
    if not tokens or not finished:
        return figures
    latencies = sorted(latency for shown in arrivals for latency, _at in shown)
    durations = [sending.messages[-1][0] - sending.at for sending in finished]
    speeds = [len(shown) / (shown[-1][1] - shown[0][1] + shown[0][0] / 1000) for shown in arrivals if shown]
    return figures | {
        "tokens": tokens / len(sendings),
        "CPU s per 1,000 tokens": 1000 * cpu / tokens,
        "CPU s per turn": cpu / len(sendings),
        "token to socket, ms p50": _quantile(latencies, 0.5),
        "token to socket, ms p95": _quantile(latencies, 0.95),
        "token to socket, ms p99": _quantile(latencies, 0.99),
        "send to accepted, ms p50": statistics.median(sending.accepted_ms for sending in finished),
        "send to first text, ms p50": statistics.median(map(_first_text_ms, finished)),
        "send to first text, ms max": max(map(_first_text_ms, finished)),
        "a turn lasts, s": statistics.mean(durations),
        "tokens per s": statistics.mean(speeds),
        "bytes per token": sum(sending.bytes for sending in sendings) / tokens,
        "bytes per token if deflated": sum(sending.deflated for sending in sendings) / tokens,
        "KB per turn": sum(sending.bytes for sending in sendings) / len(sendings) / 1000,
        "messages per turn": sum(len(sending.messages) for sending in sendings) / len(sendings),
    }


def _quantile(sorted_values: list[float], share: float) -> float:
    return sorted_values[min(int(share * len(sorted_values)), len(sorted_values) - 1)]


def _first_text_ms(sending: Sending) -> float:
    shown = sending.arrivals()
    return 1000 * (shown[0][1] - sending.at) if shown else float("inf")


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="bench-") as name, serving_model(Path(name)) as model:
        run = Run(arguments, Path(name), model)
        asyncio.run(run.measure())
    sys.stdout.write(table(run.figures, run.floors, TARGETS))
    if not arguments.short:
        sys.stdout.write(f"\n{beside_before(run.figures, run.floors)}")
    for scenario in run.bench.texts if arguments.top else ():
        _print_statements(scenario, run.bench.texts[scenario], arguments.top)
    for other in OTHERS if arguments.checkout == ROOT else ():
        if run.is_chosen(other):
            sys.stdout.write(f"\n{other}\n")
            sys.stdout.flush()
            path = str(arguments.json.with_name(f"{other}.json"))
            subprocess.run([sys.executable, "-m", f"bench.{other}", "--json", path], cwd=ROOT, check=True)
    sys.exit(f"Failed: {', '.join(run.failed)}" if run.failed else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", default="", help="parts; a name without number means all numbers: para,agent1"
    )
    parser.add_argument("--short", action="store_true", help="shorter turns, fewer tabs and conversations")
    parser.add_argument("--no-floor", action="store_true", help="leave the floor out")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="another checkout of the site to serve")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the site")
    parser.add_argument("--top", type=int, default=0, help="print so many statements of each part, by number")
    parser.add_argument("--where", action="store_true", help="with --top: where they came from (costs CPU)")
    parser.add_argument("--json", type=Path, default=ROOT / "var" / "bench" / "live.json")
    arguments = parser.parse_args()
    arguments.checkout = arguments.checkout.resolve()
    return arguments


class Run:
    """The chosen parts, on the site and then on the floors. A failing part is reported and skipped."""

    def __init__(self, arguments: argparse.Namespace, folder: Path, model: str) -> None:
        self.arguments = arguments
        self.folder = folder
        self.bench = Bench(model, short=arguments.short)
        self.parts = _parts(self.bench)
        self.figures: Figures = {}
        self.floors: dict[str, Figures] = {}
        self.failed: list[str] = []

    def is_chosen(self, name: str) -> bool:
        only = self.arguments.only
        chosen = [part.strip() for part in only.split(",")]
        return not only or name in chosen or name.rstrip("0123456789") in chosen

    async def measure(self) -> None:
        """Measure the chosen parts. Memory needs a new process."""
        if self.is_chosen("memory"):
            with self._site("fresh") as site:
                await self._part("memory", self.bench.memory(site), self.figures)
        if any(map(self.is_chosen, self.parts)):
            with self._site("site") as site:
                for name in filter(self.is_chosen, self.parts):
                    await self._part(name, self.parts[name](site), self.figures)
        if self.is_chosen("history"):
            await self._part("history", asyncio.to_thread(self._history), self.figures)
        for kind in () if self.arguments.no_floor else FLOORS:
            await self._measure_floor(kind)

    def _site(self, name: str) -> Site:
        settings = dict(each.split("=", 1) for each in self.arguments.env)
        where = self.arguments.where
        return Site(self.arguments.checkout, self.folder / name, self.bench.model, where=where, **settings)

    async def _part(self, name: str, measuring: Awaitable[Figures], figures: Figures) -> None:
        sys.stderr.write(f"{name}\n")
        try:
            figures |= await measuring
        except Exception as error:  # keep the other parts
            sys.stderr.write(f"{name} failed: {error!r}\n")
            self.failed.append(name)
        self._write()

    def _write(self) -> None:
        results = {"about": _about(self.arguments), "figures": self.figures, "floors": self.floors}
        self.arguments.json.parent.mkdir(parents=True, exist_ok=True)
        self.arguments.json.write_text(json.dumps(results, indent=2) + "\n")

    async def _measure_floor(self, kind: str) -> None:
        figures = self.floors[kind] = {}
        if self.is_chosen("memory"):
            with Floor(kind, self.folder, self.bench.model) as floor:
                await self._part(f"memory, {kind}", self.bench.memory(floor), figures)
        with Floor(kind, self.folder, self.bench.model) as floor:
            for name in filter(self.is_chosen, self.parts):
                if name.startswith(STREAMS):
                    await self._part(f"{name}, {kind}", self.parts[name](floor), figures)

    def _history(self) -> Figures:
        result_path = self.folder / "history.json"
        site = self._site("history")
        options = [
            "--conversations",
            "1000" if self.bench.short else "10000",
            "--pages",
            "--json",
            str(result_path),
        ]
        environment = site.environment | {"PYTHONPATH": str(site.checkout)}
        command = [site.python, str(HERE / "search.py"), *options]
        subprocess.run(command, cwd=site.checkout, env=environment, stdout=subprocess.DEVNULL, check=True)
        figures = json.loads(result_path.read_text())
        return {f"history: {name}": value for name, value in figures.items() if "p50" in name or "KB" in name}


def _parts(bench: Bench) -> dict[str, Callable[[Server], Awaitable[Figures]]]:
    streams = {f"para{count}": bench.para(count) for count in (1, 10, 25, 50)}
    agents = {f"agent{count}": bench.agent(count) for count in (1, 10)}
    calm = {"idle": bench.idle, "first": bench.first, "begin": bench.begin, "text1": bench.text}
    return {**calm, "browser": bench.browser, **agents, "fast": bench.fast, **streams}


def _print_statements(name: str, counts: Counts, limit: int) -> None:
    sys.stdout.write(f"\n{name}: {counts.statements} statements\n")
    for text, count in counts.texts.most_common(limit):
        sys.stdout.write(f"{count:6}  {' '.join(text.split())[:200]}\n")


def _about(arguments: argparse.Namespace) -> dict[str, object]:
    def git(*words: str) -> str:
        command = ["git", "-C", str(arguments.checkout), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "commit": git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain") else ""),
        "python": sys.version.split()[0],
        "cores": os.cpu_count(),
        "load of the machine": os.getloadavg()[0],
        "short": arguments.short,
        "settings": arguments.env,
    }


if __name__ == "__main__":
    main()
