"""Whether a turn's calls may run: by its profile's rules, by what the person allowed, by their answers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from django.utils import timezone

from chat.agent import Agent, Tool, ToolError, Undecided
from chat.agent import ToolCall as CallRequest
from chat.agent.arguments import decoded
from chat.agent.todo import TODO_WRITE
from chat.database import in_database
from chat.models import Rule, ToolCall
from chat.models.text import clean_json
from chat.turns.recorder import Recorder

log = logging.getLogger(__name__)


class Approvals:
    """Decides on the calls of one turn, with the rules as they were when its work began."""

    def __init__(self, agent: Agent, recorder: Recorder, write: Callable[[], Awaitable[None]]) -> None:
        self.tools = {tool.name: tool for tool in agent.tools}
        self.recorder = recorder
        self.write = write  # what the recorder has taken in, so that the call has a row
        self.profile = recorder.turn.profile

    async def decide(self, request: CallRequest) -> str | None:
        """None for a call that may run, the person's reason for one that they denied; raises Undecided."""
        call = self.recorder.row_of(request)
        if call and call.decision:
            return call.reason if call.decision == ToolCall.Decision.DENIED else None
        tool = self.tools.get(request.name)
        asks = request.name != TODO_WRITE and self.profile.rule_for(request.name) != Rule.RUN
        # What no tool takes is not asked about: it is answered with an error, whatever the person would say.
        if not asks or tool is None or not _takes(tool, request):
            return None
        await self.write()
        call = self.recorder.calls[request.id]
        if await in_database(_cover, call):
            return None
        call.detail = {"foreseen": clean_json(await _foreseen(tool, request))}
        raise Undecided


def _takes(tool: Tool, request: CallRequest) -> bool:
    try:
        given = decoded(request.arguments)
    except (ValueError, RecursionError):
        return False
    try:
        tool.checked(given)
    except ToolError:
        return False
    except Exception:  # nobody knows whether it would run, so the person is asked
        log.exception("the arguments of %s could not be checked", tool.name)
    return True


def _cover(call: ToolCall) -> bool:
    """Whether the person allowed such calls before; the record of this one says so."""
    if not call.is_covered:
        return False
    call.decision, call.decided_at = ToolCall.Decision.COVERED, timezone.now()
    call.save(update_fields=["decision", "decided_at"])
    return True


async def _foreseen(tool: Tool, request: CallRequest) -> dict[str, object]:
    """What the call would change, as things stand; nothing where it would fail or cannot tell."""
    try:
        return dict(await tool.foreseen(decoded(request.arguments)))
    except ToolError:
        return {}
    except Exception:  # the question is put without a preview
        log.exception("%s could not tell what it would do", tool.name)
        return {}
