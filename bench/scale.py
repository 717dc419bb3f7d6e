"""One process against several, many tabs, many streams: `python -m bench.scale [--only PARTS] [--short]`.

    processes   turns on one process, and on two web and two worker processes with PostgreSQL and Redis
    tabs        2,000 idle tabs on one process
    streams     200 conversations on one process, each at 20 tokens/s

Compare figures of one run: another load on the machine changes all of them. See docs/scaling.md.
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

from bench.live import LINGER, Crowd, Figures, of_turns, serving_model
from bench.processes import Child, cpu_of
from bench.site import ROOT, Counts, Person, Place, Site
from bench.tab import Sending, Tab
from bench.table import table
from tests.postgres import postgres_server

PATIENCE = 180.0  # seconds for a turn
EACH_START = 0.2  # seconds between the starts of turns that stream slowly, for all to stream together
SETTLE = 300.0  # seconds in which a site comes to rest
AT_ONCE = 8  # tabs that are being opened
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

Seat = tuple[Person, str]  # a user, and a conversation of theirs


class Seated(Crowd):
    """Users with tabs on conversations that are there already."""

    def __init__(self, place: Place, seats: Sequence[Seat]) -> None:
        self.place = place
        self.seats = seats
        self.people = [person for person, _conversation in seats]
        self.patience = PATIENCE
        self.tabs = []

    async def __aenter__(self) -> Seated:
        unbounded = aiohttp.TCPConnector(limit=0)
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), connector=unbounded)
        room = asyncio.Semaphore(AT_ONCE)

        async def enter(person: Person, conversation: str) -> Tab:
            async with room:
                return await self.enter(person, conversation)

        self.tabs = await asyncio.gather(*(enter(*seat) for seat in self.seats))
        return self


def seats_of(site: Site, users: int, each: int) -> list[Seat]:
    """So many users, signed in, with so many conversations each, each of one turn."""
    people = site.enrol(users)
    told = site.shell(f"EACH = {each}\n{SEED}").partition("seeded ")[2].splitlines()[0]
    conversations: list[str] = json.loads(told)
    return [(people[place // each], key) for place, key in enumerate(conversations[: users * each])]


@dataclass
class Web:
    """One of a cluster's web processes, as a place."""

    address: str
    child: Child
    site: Site

    def enrol(self, count: int) -> list[Person]:
        """So many users of the whole cluster."""
        return self.site.enrol(count)

    def counts(self) -> Counts:
        """What all processes of the cluster asked."""
        return self.site.counts()


class Cluster(Site):
    """Two web processes and two workers, which share a data folder, PostgreSQL and Redis."""

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


async def settled(site: Site) -> None:
    """Wait until the site has indexed what was seeded and rests; raises TimeoutError if it does not."""
    async with asyncio.timeout(SETTLE):
        quiet = False
        while not quiet:
            before = site.counts()
            await asyncio.sleep(10)  # a heartbeat of every tab
            quiet = (site.counts() - before).statements < 100


async def paced(crowd: Crowd, text: str, pause: float) -> list[Sending]:
    """Everybody sends the text, so many seconds apart; what they sent, once all turns have ended."""
    sendings = []
    for tab in crowd.tabs:
        sendings.append(await tab.send(text))
        await asyncio.sleep(pause)
    await asyncio.gather(*(sending.finish(crowd.patience) for sending in sendings))
    return sendings


async def said(
    site: Site,
    places: Sequence[Place],
    seats: Sequence[Seat],
    text: str,
    cpu: Callable[[], float],
    pause: float = 0.0,
) -> Figures:
    """A turn of everybody's, spread over the site's places; `cpu` is of all that serves them."""
    async with contextlib.AsyncExitStack() as entered:
        crowds = [
            await entered.enter_async_context(Seated(place, seats[number :: len(places)]))
            for number, place in enumerate(places)
        ]
        await settled(site)
        counts, before = places[0].counts(), cpu()
        said_by = await asyncio.gather(*(paced(crowd, text, pause) for crowd in crowds))
        sendings = list(itertools.chain.from_iterable(said_by))
        await asyncio.sleep(LINGER)
        spent, asked = cpu() - before, places[0].counts() - counts
        figures = of_turns(sendings, spent)
        for crowd, own in zip(crowds, said_by, strict=True):
            await crowd.stop(own)
    return figures | {"statements per turn": asked.statements / len(sendings)}


class Scale:
    """One run."""

    def __init__(self, model: str, folder: Path, *, short: bool) -> None:
        self.model = model
        self.folder = folder
        self.short = short

    def _site(self, name: str, **more: str) -> Site:
        return Site(ROOT, self.folder / name, self.model, prepared=True, where=False, **more)

    def processes(self) -> Figures:
        """Turns that start together, on one process and on four."""
        count, text = (6, "bench para 150 50") if self.short else (20, "bench para 500 50")
        with self._site("one") as site:
            seats = seats_of(site, count, 1)
            one = asyncio.run(said(site, [site], seats, text, lambda: site.child.cpu))
        four = self._four(count, text)
        share = four["CPU s per 1,000 tokens"] / one["CPU s per 1,000 tokens"]
        return {
            **{f"1 process, {count} streams: {kind}": value for kind, value in one.items()},
            **{f"4 processes, {count} streams: {kind}": value for kind, value in four.items()},
            "4 processes: CPU per token, times that of one": share,
        }

    def _four(self, count: int, text: str) -> Figures:
        with postgres_server() as postgres, redis(self.folder / "redis.sock") as server:
            more = {
                "DATABASE_URL": postgres.address,
                "REDIS_URL": f"unix://{self.folder}/redis.sock",
                "WORKER": "none",
            }
            with Cluster(
                ROOT, self.folder / "four", self.model, prepared=True, where=False, **more
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
                    said(cluster, cluster.webs, seats, text, lambda: sum(cpu() for cpu in parts.values()))
                )
                spent = {name: cpu() - before[name] for name, cpu in parts.items()}
        total = sum(spent.values())
        return figures | {f"% of the CPU in {name}": 100 * each / total for name, each in spent.items()}

    def tabs(self) -> Figures:
        """Idle tabs: what each holds of memory, and what all take of a core."""
        users, each, seconds = (10, 10, 10.0) if self.short else (50, 40, 30.0)
        with self._site("tabs") as site:
            seats = seats_of(site, users, each)
            return {
                f"{len(seats)} idle tabs: {kind}": value
                for kind, value in asyncio.run(self._idle(site, seats, seconds)).items()
            }

    async def _idle(self, site: Site, seats: list[Seat], seconds: float) -> Figures:
        first = len(seats) // 10  # these take what memory is free
        async with Seated(site, seats[:first]):
            start = site.child.rss
            async with Seated(site, seats[first:]) as rest:
                await settled(site)
                held, counts, cpu = site.child.rss - start, site.counts(), site.child.cpu
                await asyncio.sleep(seconds)
                spent, asked = site.child.cpu - cpu, site.counts() - counts
                lost = sum(tab.closed for tab in rest.tabs)
        return {
            "KB per tab": held / (len(seats) - first) / 1e3,
            "CPU, % of a core": 100 * spent / seconds,
            "statements per s": asked.statements / seconds,
            "tabs that lost their socket": lost,
        }

    def streams(self) -> Figures:
        """Many conversations that stream slowly, all on one process."""
        count, text = (40, "bench para 200 20") if self.short else (200, "bench para 1000 20")
        with self._site("streams", MAX_TURNS=str(count)) as site:
            seats = seats_of(site, count, 1)
            figures = asyncio.run(said(site, [site], seats, text, lambda: site.child.cpu, EACH_START))
            figures["RSS of the process, MB"] = site.child.rss / 1e6
        return {f"{count} streams of 20 tokens/s: {kind}": value for kind, value in figures.items()}


@contextlib.contextmanager
def redis(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Redis that keeps nothing, on a Unix socket."""
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
    """Measure, print and write."""
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument("--only", default="processes,tabs,streams", help="parts, parted by commas")
    reader.add_argument("--short", action="store_true", help="fewer tabs and streams, shorter turns")
    reader.add_argument("--json", type=Path, default=ROOT / "var" / "bench" / "scale.json")
    given = reader.parse_args()
    figures: Figures = {}
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="bench-") as name, serving_model(Path(name)) as model:
        scale = Scale(model, Path(name), short=given.short)
        for part in given.only.split(","):
            sys.stderr.write(f"{part}\n")
            figures |= {"processes": scale.processes, "tabs": scale.tabs, "streams": scale.streams}[part]()
    about = {"date": time.strftime("%Y-%m-%d %H:%M"), "cores": os.cpu_count(), "load before": load}
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps({"about": about, "figures": figures, "floors": {}}, indent=2) + "\n")
    sys.stdout.write(f"{about}\n{table(figures, {}, TARGETS)}")


TARGETS = {
    "4 processes: CPU per token, times that of one": 2.5,
    "2000 idle tabs: KB per tab": 50,
    "2000 idle tabs: CPU, % of a core": 4,
}

if __name__ == "__main__":
    main()
