"""Scaling: several processes, many tabs, many streams: `python -m bench.scale [--only PARTS] [--short]`.

    processes   turns on one process, and on two web and two worker processes with PostgreSQL and Redis
    tabs        2,000 idle tabs on one process
    streams     200 conversations on one process, each at 20 tokens/s

Compare figures of one run only, as the machine's load affects all of them. See docs/scaling.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from bench.live import LINGER, Crowd, Figures, serving_model, turn_figures
from bench.processes import Child, cpu_of
from bench.site import ROOT, Counts, Person, Server, Site
from bench.tab import Sending, Tab
from bench.table import table
from tests.postgres import postgres_server

TURN_SECONDS = 180.0  # timeout of a turn
START_INTERVAL = 0.2  # seconds between the starts of slow streams
SETTLE_SECONDS = 300.0  # timeout for a site to become idle
MAX_OPENING = 8  # tabs opened concurrently
SEED = """
import json, uuid
from django.contrib.auth.models import User
from chat.models import Conversation, Message, Turn
made = []
for user in User.objects.filter(username__startswith="person-").order_by("pk"):
    for number in range(EACH):
        conversation = Conversation.objects.create(owner=user, title=f"Conversation {number}")
        turn = Turn.objects.create(conversation=conversation, client_id=uuid.uuid4(), status="completed")
        Message.objects.create(turn=turn, role="user", text="A question")
        Message.objects.create(turn=turn, role="assistant", text="An answer of some words. " * 20)
        made.append(str(conversation.pk))
print("seeded " + json.dumps(made))
"""

Seat = tuple[Person, str]  # a user and one of their conversations


class Seated(Crowd):
    def __init__(self, server: Server, seats: Sequence[Seat]) -> None:
        self.server = server
        self.seats = seats
        self.users = [person for person, _conversation in seats]
        self.patience = TURN_SECONDS
        self.tabs = []

    async def __aenter__(self) -> Seated:
        unbounded = aiohttp.TCPConnector(limit=0)
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), connector=unbounded)
        limit = asyncio.Semaphore(MAX_OPENING)

        async def enter(person: Person, conversation: str) -> Tab:
            async with limit:
                return await self.enter(person, conversation)

        self.tabs = await asyncio.gather(*(enter(*seat) for seat in self.seats))
        return self


def seats_of(site: Site, users: int, each: int) -> list[Seat]:
    owners = site.enrol(users)
    output = site.shell(f"EACH = {each}\n{SEED}").partition("seeded ")[2].splitlines()[0]
    conversations: list[str] = json.loads(output)
    return [(owners[index // each], key) for index, key in enumerate(conversations[: users * each])]


@dataclass
class Web:
    address: str
    child: Child
    site: Site

    def enrol(self, count: int) -> list[Person]:
        return self.site.enrol(count)

    def counts(self) -> Counts:
        return self.site.counts()


class Cluster(Site):
    def __enter__(self) -> Cluster:
        super().__enter__()
        self.webs = [Web(self.address, self.child, self), self._second_web()]
        self.workers = [self._worker(number) for number in range(2)]
        return self

    def __exit__(self, *error: object) -> None:
        for child in (*self.workers, self.webs[1].child):
            child.__exit__()
        super().__exit__(*error)

    def _start(self, name: str, *words: str) -> Child:
        command = [self.python, "manage.py", *words]
        return Child(command, self.checkout, self.folder / f"{name}.log", self.environment | self.counted)

    def _second_web(self) -> Web:
        child = self._start("second", "serve", "--bind", "127.0.0.1:0")
        return Web(child.line("Sign in: ").partition("/sign-in/")[0], child, self)

    def _worker(self, number: int) -> Child:
        child = self._start(f"worker-{number}", "runworker", "agent")
        child.line("Taking turns")
        return child


async def wait_until_idle(site: Site) -> None:
    """Wait until the site has indexed the seeded rows and is idle. Raises TimeoutError."""
    async with asyncio.timeout(SETTLE_SECONDS):
        is_idle = False
        while not is_idle:
            before = site.counts()
            await asyncio.sleep(10)  # at least one heartbeat of every tab
            is_idle = (site.counts() - before).statements < 100


async def send_paced(crowd: Crowd, text: str, pause: float) -> list[Sending]:
    sendings = []
    for tab in crowd.tabs:
        sendings.append(await tab.send(text))
        await asyncio.sleep(pause)
    await asyncio.gather(*(sending.finish(crowd.patience) for sending in sendings))
    return sendings


async def measure_turns(
    site: Site,
    servers: Sequence[Server],
    seats: Sequence[Seat],
    text: str,
    cpu: Callable[[], float],
    pause: float = 0.0,
) -> Figures:
    """Measure a turn of every user, spread over the servers; `cpu` returns the CPU time of all processes."""
    async with contextlib.AsyncExitStack() as entered:
        crowds = [
            await entered.enter_async_context(Seated(server, seats[number :: len(servers)]))
            for number, server in enumerate(servers)
        ]
        await wait_until_idle(site)
        counts, cpu_before = servers[0].counts(), cpu()
        sendings_by_crowd = await asyncio.gather(*(send_paced(crowd, text, pause) for crowd in crowds))
        sendings = list(itertools.chain.from_iterable(sendings_by_crowd))
        await asyncio.sleep(LINGER)
        cpu_used, queries = cpu() - cpu_before, servers[0].counts() - counts
        figures = turn_figures(sendings, cpu_used)
        for crowd, own_sendings in zip(crowds, sendings_by_crowd, strict=True):
            await crowd.stop(own_sendings)
    return figures | {"statements per turn": queries.statements / len(sendings)}


class Scale:
    def __init__(self, model: str, folder: Path, *, short: bool) -> None:
        self.model = model
        self.folder = folder
        self.short = short

    def _site(self, name: str, **more: str) -> Site:
        return Site(ROOT, self.folder / name, self.model, prepared=True, where=False, **more)

    def processes(self) -> Figures:
        count, text = (6, "bench para 150 50") if self.short else (20, "bench para 500 50")
        with self._site("one") as site:
            seats = seats_of(site, count, 1)
            one = asyncio.run(measure_turns(site, [site], seats, text, lambda: site.child.cpu))
        four = self._four(count, text)
        share = four["CPU s per 1,000 tokens"] / one["CPU s per 1,000 tokens"]
        return {
            **{f"1 process, {count} streams: {kind}": value for kind, value in one.items()},
            **{f"4 processes, {count} streams: {kind}": value for kind, value in four.items()},
            "4 processes: CPU per token, times that of one": share,
        }

    def _four(self, count: int, text: str) -> Figures:
        with postgres_server() as postgres, redis(self.folder / "redis.sock") as server:
            settings = {
                "DATABASE_URL": postgres.address,
                "REDIS_URL": f"unix://{self.folder}/redis.sock",
                "WORKER": "none",
            }
            with Cluster(
                ROOT, self.folder / "four", self.model, prepared=True, where=False, **settings
            ) as cluster:
                seats = seats_of(cluster, count, 1)
                postmaster = int(Path(postgres.data, "postmaster.pid").read_text().split()[0])
                webs, workers = [web.child for web in cluster.webs], cluster.workers
                parts: dict[str, Callable[[], float]] = {
                    "web": lambda: sum(child.cpu for child in webs),
                    "workers": lambda: sum(child.cpu for child in workers),
                    "PostgreSQL": lambda: cpu_of(postmaster),
                    "Redis": lambda: cpu_of(server.pid),
                }
                before = {name: cpu() for name, cpu in parts.items()}
                figures = asyncio.run(
                    measure_turns(
                        cluster, cluster.webs, seats, text, lambda: sum(cpu() for cpu in parts.values())
                    )
                )
                spent = {name: cpu() - before[name] for name, cpu in parts.items()}
        total = sum(spent.values())
        return figures | {f"% of the CPU in {name}": 100 * each / total for name, each in spent.items()}

    def tabs(self) -> Figures:
        users, each, seconds = (10, 10, 10.0) if self.short else (50, 40, 30.0)
        with self._site("tabs") as site:
            seats = seats_of(site, users, each)
            return {
                f"{len(seats)} idle tabs: {kind}": value
                for kind, value in asyncio.run(self._idle(site, seats, seconds)).items()
            }

    async def _idle(self, site: Site, seats: list[Seat], seconds: float) -> Figures:
        first = len(seats) // 10  # uses up free memory first
        async with Seated(site, seats[:first]):
            start = site.child.rss
            async with Seated(site, seats[first:]) as rest:
                await wait_until_idle(site)
                memory, counts, cpu = site.child.rss - start, site.counts(), site.child.cpu
                await asyncio.sleep(seconds)
                cpu_used, queries = site.child.cpu - cpu, site.counts() - counts
                lost = sum(tab.closed for tab in rest.tabs)
        return {
            "KB per tab": memory / (len(seats) - first) / 1e3,
            "CPU, % of a core": 100 * cpu_used / seconds,
            "statements per s": queries.statements / seconds,
            "tabs that lost their socket": lost,
        }

    def streams(self) -> Figures:
        count, text = (40, "bench para 200 20") if self.short else (200, "bench para 1000 20")
        with self._site("streams", MAX_TURNS=str(count)) as site:
            seats = seats_of(site, count, 1)
            work = measure_turns(site, [site], seats, text, lambda: site.child.cpu, START_INTERVAL)
            figures = asyncio.run(work)
            figures["RSS of the process, MB"] = site.child.rss / 1e6
        return {f"{count} streams of 20 tokens/s: {kind}": value for kind, value in figures.items()}


@contextlib.contextmanager
def redis(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not path.exists():
            if server.poll() is not None:
                raise RuntimeError(f"redis-server ended with {server.returncode}")
            time.sleep(0.05)
        yield server
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="processes,tabs,streams", help="parts, parted by commas")
    parser.add_argument("--short", action="store_true", help="fewer tabs and streams, shorter turns")
    parser.add_argument("--json", type=Path, default=ROOT / "var" / "bench" / "scale.json")
    arguments = parser.parse_args()
    figures: Figures = {}
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="bench-") as name, serving_model(Path(name)) as model:
        scale = Scale(model, Path(name), short=arguments.short)
        for part in arguments.only.split(","):
            sys.stderr.write(f"{part}\n")
            figures |= {"processes": scale.processes, "tabs": scale.tabs, "streams": scale.streams}[part]()
    about = {"date": time.strftime("%Y-%m-%d %H:%M"), "cores": os.cpu_count(), "load before": load}
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"about": about, "figures": figures, "floors": {}}, indent=2) + "\n")
    sys.stdout.write(f"{about}\n{table(figures, {}, TARGETS)}")


TARGETS = {
    "4 processes: CPU per token, times that of one": 2.5,
    "2000 idle tabs: KB per tab": 50,
    "2000 idle tabs: CPU, % of a core": 4,
}

if __name__ == "__main__":
    main()
