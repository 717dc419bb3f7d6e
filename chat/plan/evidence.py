"""Evidence: what was done for an item of a plan, read from the rows and never stored.

What counts for an item are its **spans**, each a stretch of one turn:

- A span begins at the accepted list that says the item is in progress, and ends at the list that says
  otherwise, at the person's own change of it, or with the turn. Where a later turn goes on with the plan and
  finds the item still in progress, another span begins with that turn.
- An item that is ticked without having been in progress, as every item is under `lean`, has what the agent
  did since it last ticked another: back to the plan's first list, or for an item that was done already when
  that was written, to the beginning of the turn. Several that one list ticks share it.
- A step belongs to the spans in which it began, so the step that writes a list belongs to the item which the
  list ends, and the calls that follow the list in the same step to the item which it begins.
- Lists themselves, be they accepted or refused, are no evidence; their steps took tokens all the same.
- An item that is removed keeps what it has.

Work in turns after the plan's last list counts for nothing: nobody said that it was for the plan.

A call is **recorded action** if its tool began to work, whatever came of it. One that was denied, or stopped
before it ran, is shown and is none. A file counts as changed if `write_file` or `edit_file` succeeded on it,
or if it was another after a command than before. Time is that of a clock on the wall while the turn went on,
without what it waited for the person's answers, which is told apart.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils import timezone

from chat.agent.workspace import WorkspaceError, relative
from chat.models import Step, ToolCall
from chat.models.totals import Totals
from chat.plan.history import Plan
from chat.plan.span import Span, seconds_of
from chat.plan.story import Revision
from chat.plan.walk import Trace, Walk


@dataclass(frozen=True)
class Evidence:
    """What one item has to show, until the moment `now`."""

    trace: Trace
    now: datetime.datetime

    @property
    def spans(self) -> Sequence[Span]:
        """Its spans, oldest first."""
        return self.trace.spans

    @cached_property
    def calls(self) -> list[ToolCall]:
        """The tool calls, oldest first, those that did not run among them."""
        return list({call.pk: call for span in self.spans for call in span.calls}.values())

    @cached_property
    def steps(self) -> list[Step]:
        """The steps that began, oldest first."""
        return list({step.pk: step for span in self.spans for step in span.steps}.values())

    @cached_property
    def files_written(self) -> list[str]:
        """The files that its calls name and have written, beneath the workspace, each once, oldest first."""
        return list(dict.fromkeys(path for call in self.calls if (path := _beneath(call.file_written))))

    @cached_property
    def files(self) -> list[str]:
        """These and the files that its commands changed, as far as they are named."""
        changed = [path for call in self.calls for path in call.command_changed]
        return list(dict.fromkeys([*self.files_written, *changed]))

    @cached_property
    def more_files(self) -> int:
        """How many more it changed at least: two commands' unnamed files may be the same."""
        most = max((_changed_by(call) for call in self.calls), default=0)
        return max(0, most - len(self.files))

    @property
    def files_are_more(self) -> bool:
        """Whether a command changed more files than are named."""
        return any(call.command_changed_more for call in self.calls)

    @property
    def files_counted(self) -> int:
        """How many files it changed at least."""
        return len(self.files) + self.more_files

    @cached_property
    def totals(self) -> Totals:
        """What its steps took."""
        return Totals.of(self.steps)

    @cached_property
    def waited(self) -> float:
        """Seconds for which its calls waited for the person's answer."""
        return sum(_waited(call, self.now) for call in self.calls)

    @cached_property
    def seconds(self) -> float:
        """Seconds that it took, without those."""
        return max(0.0, seconds_of(self.spans, self.now) - self.waited)

    @property
    def shared_with(self) -> int:
        """How many other items were ticked together with it and have the same."""
        return self.trace.neighbours

    @property
    def by_person(self) -> bool:
        """Whether it was the person who ticked it."""
        return self.trace.ticked and self.trace.by_person

    @property
    def is_bare(self) -> bool:
        """Whether the agent ticked it and there is no recorded action."""
        return self.trace.ticked and not self.by_person and not any(call.ran for call in self.calls)

    @property
    def place(self) -> str:
        """The id, in the transcript, of where its work begins; empty for one that was never begun."""
        if not self.spans:
            return ""
        first = self.spans[0]
        row = first.write or next(iter(first.calls), None)
        return row.dom_id if row else f"turn-{first.turn.pk}"


def evidence_of(
    plan: Plan, until: Revision | None = None, now: datetime.datetime | None = None
) -> Mapping[str, Evidence]:
    """The evidence of a plan's items by their ids; of those that have any, or were ticked.

    With `until`, a revision of the plan, as it was before the list was written again. `now` is for work that
    goes on.
    """
    moment = now or timezone.now()
    entries, following = plan.while_it_stood(until) if until else (plan.entries, plan.followed_by)
    traces = Walk().along(entries, following)
    return {item: Evidence(trace, moment) for item, trace in traces.items()}


def item_of(evidence: Mapping[str, Evidence], call: int | None) -> str:
    """The item that the call of that key counts for, the first of several; empty for none."""
    found = (item for item, each in evidence.items() if any(known.pk == call for known in each.calls))
    return next(found, "")


def _changed_by(call: ToolCall) -> int:
    return len(call.command_changed) + call.command_changed_more


def _beneath(path: str) -> str:
    try:
        return relative(path) if path else ""
    except WorkspaceError:
        return ""


def _waited(call: ToolCall, now: datetime.datetime) -> float:
    if call.status == ToolCall.Status.WAITING and call.asked_at:
        return max(0.0, (now - call.asked_at).total_seconds())
    return call.waited
