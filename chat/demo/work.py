"""Works through a list: writes it, does an item, ticks it, and sums up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chat.demo.demo_request import DemoRequest, Item, Script, advanced, ask
from chat.demo.words import doing, one_line


@dataclass(frozen=True)
class Outcome:
    """What came of one item, as markdown; it is ticked only if `ok`. A question ends the turn."""

    text: str
    ok: bool = True
    quote: str = ""
    question: str = ""


Do = Callable[[Item], Script[Outcome]]


class Work:
    """The list of one turn. Where no `TodoWrite` is on offer, or it is refused, work goes on without it.

    Where the person changes the list, it is theirs that is worked on.
    """

    def __init__(self, desk: DemoRequest, items: Sequence[Item]) -> None:
        self.desk = desk
        self.items = list(items)
        self.outcomes: list[tuple[Item, Outcome]] = []
        self.refusal = ""
        self.left: set[str] = set()

    @classmethod
    def planned(cls, desk: DemoRequest, texts: Sequence[str]) -> Work:
        """The work of a fresh list, cut to what the list may hold."""
        room = desk.dialect.maximum if desk.dialect else len(texts)
        kept = list(texts) if len(texts) <= room else [*texts[: room - 1], _rest(desk, texts[room - 1 :])]
        return cls(desk, [Item(text, doing(text)) for text in kept])

    def start(self, text: str = "") -> Script[None]:
        """Write the list with its first open item being worked on."""
        yield from self.write(advanced(self.items, active=self._next()), text)

    def restart(self, text: str = "") -> Script[None]:
        """Write a list that stands already, if the dialect has a word for a start; else save the call."""
        if self.desk.dialect and self.desk.dialect.active:
            yield from self.start(text)

    def through(self, do: Do) -> Script[str]:
        """Do what is open, tick each item right after, and return the closing text."""
        tried: set[str] = set()
        self._hear()
        while item := self._open(tried):
            tried.add(item.text)
            outcome = yield from do(item)
            if outcome.question:
                return outcome.question
            self.outcomes.append((item, outcome))
            self._hear()
            places = [place for place, each in enumerate(self.items) if each.text == item.text]
            if places:  # nobody has taken it out meanwhile
                yield from (self.tick(*places) if outcome.ok else self.leave(item))
        return self.summary()

    def _hear(self) -> None:
        """Go on with the list as the person has left it, if they changed it by now."""
        dialect = self.desk.dialect
        if self.desk.changed and dialect:
            known = {item.text: item.doing for item in self.items}
            self.items = [
                replace(item, doing=known.get(item.text) or item.doing or doing(item.text))
                for item in dialect.items(self.desk.changed.pop())
            ]
            self.desk.changed.clear()

    def tick(self, *places: int, text: str = "") -> Script[None]:
        """Write the list with these places done and the next open one being worked on."""
        items = advanced(self.items, places)
        self.items = items
        yield from self.write(advanced(items, active=self._next()), text)

    def leave(self, item: Item) -> Script[None]:
        """Leave an item that could not be done open, and go on with the next."""
        self.left.add(item.text)
        items = advanced(self.items, active=self._next())
        if items != self.items and self.desk.dialect and self.desk.dialect.active:
            yield from self.write(items)

    def write(self, items: list[Item], text: str = "") -> Script[None]:
        """Write the list as given."""
        self.items = items
        if self.desk.dialect and not self.refusal:
            (result,) = yield from ask(self.desk.dialect.call(items), text=text)
            self.refusal = result.text if result.failed else ""
            self._hear()

    def summary(self) -> str:
        """The closing text: how much is done, what came of each item, and the last outputs."""
        say = self.desk.say
        done, total = sum(item.state == "done" for item in self.items), len(self.items)
        head = say(f"**Done: {done} of {total}.**", f"**完成：{done}/{total}。**")
        lines = [
            f"- {'✓' if outcome.ok else '✗'} **{item.text}**: {outcome.text}"
            for item, outcome in self.outcomes
        ]
        quotes = [outcome.quote for _, outcome in self.outcomes if outcome.quote]
        parts = [head, "\n".join(lines), *quotes[-3:]]
        if self.refusal:
            refused = one_line(self.refusal)
            parts.append(say(f"The list was rejected: `{refused}`", f"任务列表被拒绝：`{refused}`"))
        return "\n\n".join([*parts, signature(self.desk)])

    def _next(self) -> int | None:
        places = (place for place, item in enumerate(self.items) if item.state != "done")
        return next((place for place in places if self.items[place].text not in self.left), None)

    def _open(self, tried: set[str]) -> Item | None:
        """The next item that is open and was not tried."""
        return next((each for each in self.items if each.state != "done" and each.text not in tried), None)


def signature(desk: DemoRequest) -> str:
    """The line that says what spoke."""
    return desk.say(
        "*The tools and files are real; the replies are scripted by the built-in demo, not an AI.*",
        "*工具和文件都是真实的；回复由内置演示按脚本生成，不是 AI。*",
    )


def quoted(text: str, language: str = "text", longest: int = 12) -> str:
    """The text as a block of code that it cannot break out of, cut after so many lines."""
    lines = text.strip().splitlines()
    shown = [*lines[:longest], *(["…"] if len(lines) > longest else [])]
    fence = "```"
    while fence in text:
        fence += "`"
    return "\n".join([f"{fence}{language}", *(line[:160] for line in shown), fence])


def _rest(desk: DemoRequest, texts: Sequence[str]) -> str:
    joined = one_line("; ".join(texts), 80)
    return desk.say(f"Do the remaining {len(texts)}: {joined}", f"完成其余 {len(texts)} 项：{joined}")
