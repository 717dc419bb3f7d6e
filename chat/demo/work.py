"""Works through a list: writes it, does each item, ticks it off, and sums up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chat.demo.demo_request import DemoRequest, Item, Script, advanced, ask
from chat.demo.words import doing, one_line


@dataclass(frozen=True)
class ItemOutcome:
    """The result of an item as Markdown; it is ticked off only if `ok`. A question ends the turn."""

    text: str
    ok: bool = True
    quote: str = ""
    question: str = ""


Do = Callable[[Item], Script[ItemOutcome]]


class Work:
    """The list of a turn. Without `TodoWrite`, or if it is refused, the work continues without it.

    If the user edits the list, the edited list is used.
    """

    def __init__(self, request: DemoRequest, items: Sequence[Item]) -> None:
        self.request = request
        self.items = list(items)
        self.outcomes: list[tuple[Item, ItemOutcome]] = []
        self.refusal = ""
        self.skipped: set[str] = set()

    @classmethod
    def planned(cls, request: DemoRequest, texts: Sequence[str]) -> Work:
        maximum = request.dialect.maximum if request.dialect else len(texts)
        shortened = (
            list(texts)
            if len(texts) <= maximum
            else [*texts[: maximum - 1], _rest(request, texts[maximum - 1 :])]
        )
        return cls(request, [Item(text, doing(text)) for text in shortened])

    def start(self, text: str = "") -> Script[None]:
        yield from self.write(advanced(self.items, active=self._next()), text)

    def restart(self, text: str = "") -> Script[None]:
        """Write an existing list, if the dialect has an active state; else nothing would change."""
        if self.request.dialect and self.request.dialect.active:
            yield from self.start(text)

    def run(self, do: Do) -> Script[str]:
        tried: set[str] = set()
        self._apply_user_edit()
        while item := self._open(tried):
            tried.add(item.text)
            outcome = yield from do(item)
            if outcome.question:
                return outcome.question
            self.outcomes.append((item, outcome))
            self._apply_user_edit()
            indexes = [index for index, each in enumerate(self.items) if each.text == item.text]
            if indexes:  # unless the user has removed it
                yield from (self.tick(*indexes) if outcome.ok else self.skip(item))
        return self.summary()

    def _apply_user_edit(self) -> None:
        dialect = self.request.dialect
        if self.request.changed and dialect:
            active_forms = {item.text: item.doing for item in self.items}
            self.items = [
                replace(item, doing=active_forms.get(item.text) or item.doing or doing(item.text))
                for item in dialect.items(self.request.changed.pop())
            ]
            self.request.changed.clear()

    def tick(self, *indexes: int, text: str = "") -> Script[None]:
        items = advanced(self.items, indexes)
        self.items = items
        yield from self.write(advanced(items, active=self._next()), text)

    def skip(self, item: Item) -> Script[None]:
        self.skipped.add(item.text)
        items = advanced(self.items, active=self._next())
        if items != self.items and self.request.dialect and self.request.dialect.active:
            yield from self.write(items)

    def write(self, items: list[Item], text: str = "") -> Script[None]:
        self.items = items
        if self.request.dialect and not self.refusal:
            (result,) = yield from ask(self.request.dialect.call(items), text=text)
            self.refusal = result.text if result.failed else ""
            self._apply_user_edit()

    def summary(self) -> str:
        say = self.request.say
        done, total = sum(item.state == "done" for item in self.items), len(self.items)
        head = say(f"**Done: {done} of {total}.**", f"**完成：{done}/{total}。**")
        lines = [
            f"- {'✓' if outcome.ok else '✗'} **{item.text}**{self.request.colon}{outcome.text}"
            for item, outcome in self.outcomes
        ]
        quotes = [outcome.quote for _, outcome in self.outcomes if outcome.quote]
        parts = [head, "\n".join(lines), *quotes[-3:]]
        if self.refusal:
            error = one_line(self.refusal)
            parts.append(say(f"The list was rejected: `{error}`", f"任务列表被拒绝：`{error}`"))
        return "\n\n".join([*parts, signature(self.request)])

    def _next(self) -> int | None:
        indexes = (index for index, item in enumerate(self.items) if item.state != "done")
        return next((index for index in indexes if self.items[index].text not in self.skipped), None)

    def _open(self, tried: set[str]) -> Item | None:
        return next((each for each in self.items if each.state != "done" and each.text not in tried), None)


def signature(request: DemoRequest) -> str:
    return request.say(
        "*The tools and files are real; the replies are scripted by the built-in demo, not an AI.*",
        "*工具和文件都是真实的；回复由内置演示按脚本生成，不是 AI。*",
    )


_MAX_LINES = 12  # of a quotation


def quoted(text: str, language: str = "text") -> str:
    lines = text.strip().splitlines()
    shown = [*lines[:_MAX_LINES], *(["…"] if len(lines) > _MAX_LINES else [])]
    fence = "```"
    while fence in text:
        fence += "`"
    return "\n".join([f"{fence}{language}", *(line[:160] for line in shown), fence])


def _rest(request: DemoRequest, texts: Sequence[str]) -> str:
    joined = one_line(request.say("; ", "；").join(texts), 80)
    return request.say(f"Do the remaining {len(texts)}: {joined}", f"完成其余 {len(texts)} 项：{joined}")
