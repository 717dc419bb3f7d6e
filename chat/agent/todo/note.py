"""What a person changed in a list, told to the model in one short note."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chat.agent.prompts import Language, phrase
from chat.agent.todo.item import TodoItem
from chat.agent.todo.policy import Status

_JOINT: dict[Language, str] = {"en": "; ", "zh": "；"}


def changes_of(before: Sequence[TodoItem], after: Sequence[TodoItem], language: Language) -> str:
    """What made the list `after` of the one `before`; empty where the model sees no difference."""
    return _JOINT[language].join(_changes(before, after, language))


def _changes(before: Sequence[TodoItem], after: Sequence[TodoItem], language: Language) -> Iterator[str]:
    old, new = {item.id: item for item in before}, {item.id: item for item in after}
    for item in before:
        if item.id not in new:
            yield phrase(language, "edit.skipped", content=item.content)
    for item in after:
        was = old.get(item.id)
        if was is None:
            which = "edit.added_done" if item.status is Status.COMPLETED else "edit.added"
            yield phrase(language, which, content=item.content)
            continue
        if item.content != was.content:
            yield phrase(language, "edit.reworded", before=was.content, content=item.content)
        if (item.status is Status.COMPLETED) != (was.status is Status.COMPLETED):
            which = "edit.ticked" if item.status is Status.COMPLETED else "edit.reopened"
            yield phrase(language, which, content=item.content)
    if [id_ for id_ in old if id_ in new] != [id_ for id_ in new if id_ in old]:
        yield phrase(language, "edit.reordered")
