"""What an event changed, as the recorder tells the screen."""

from __future__ import annotations

from dataclasses import dataclass

from chat.live.context_meter import ContextMeter
from chat.live.todo_panel import TodoPanel
from chat.models import Message, Summary, ToolCall


@dataclass(frozen=True)
class RowChanged:
    """A row is new, or has other content."""

    row: Message | ToolCall | Summary
    new: bool = False


@dataclass(frozen=True)
class TextGrew:
    """A message that is being written has more text, or more of its reasoning."""

    message: Message


@dataclass(frozen=True)
class OutputShortened:
    """The model reads less of a call's output from now on, perhaps one of an earlier turn."""

    call: ToolCall


@dataclass(frozen=True)
class PanelChanged:
    """The list on show is another. It has what the person changed up to revision `edited`."""

    panel: TodoPanel | None
    edited: int = 0


@dataclass(frozen=True)
class ContextGrew:
    """The model's window is as full as the meter says."""

    meter: ContextMeter | None


@dataclass(frozen=True)
class TurnChanged:
    """The turn as a whole is to be drawn again: it began, ended, or has something to say."""


Change = RowChanged | TextGrew | OutputShortened | PanelChanged | ContextGrew | TurnChanged
