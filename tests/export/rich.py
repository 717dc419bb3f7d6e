"""Random conversations with every kind of row, generated from a seed."""

from __future__ import annotations

import datetime
import random
import uuid
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from chat.agent.todo.item import new_id
from chat.files.pictures import PictureStore
from chat.models import (
    Attachment,
    BulkAct,
    Conversation,
    FollowUp,
    Message,
    ModelSettings,
    Profile,
    SideCall,
    Step,
    Summary,
    TodoRevision,
    ToolCall,
    Turn,
)
from chat.models.profile import snapshot_of
from chat.models.tag import Tag
from tests.pictures import png

BEGIN = datetime.datetime(2025, 3, 1, 9, 30, tzinfo=datetime.UTC)
TEXTS = [
    "Plain words.",
    "# A heading\n\n```python\nprint('```')\n```\n\n- [ ] a list\n",
    "中文与 English，标点。",
    "````\nfour\n````\n```\nopen fence",
    "<script>alert(1)</script> & \"quotes\" 'and' <!-- no end",
    "> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "",
    "a\r\nb\u2028c\td",
    "🙂 \u202eright to left",
    "[x]: http://example.org\n\n[x]\n\n---\n\nTitle\n=====\n",
]
CALL_STATES = ["succeeded", "failed", "denied", "stopped", "unknown"]
TURN_STATES = ["completed", "stopped", "failed", "interrupted"]


class Rich:
    """Makes one conversation of the owner's; the same seed makes the same one."""

    def __init__(self, owner: User, seed: int = 1, turns: int = 5, calls: int = 3) -> None:
        self.random = random.Random(seed)
        self.now = BEGIN
        self.calls = calls
        self.profiles = [Profile(pk=n, title=f"P{n}", name="Ada" * (n - 1), model="m") for n in (1, 2)]
        self.conversation = Conversation.objects.create(owner=owner, title=f"Rich 中文 {seed}")
        self.items: list[dict[str, str]] = []
        self.turns: list[Turn] = []
        self.pictures = [self._picture(n) for n in (1, 2)]
        for _number in range(turns):
            self._turn()
        self._finish()

    def _later(self) -> datetime.datetime:
        self.now += datetime.timedelta(seconds=self.random.choice([0.25, 1, 7.000001, 400]))
        return self.now

    def _text(self) -> str:
        return self.random.choice(TEXTS)

    def _picture(self, number: int) -> dict[str, Any]:
        return PictureStore(self.conversation.pk).keep(f"uploads/{number}.png", png(number, number)).about()

    def _turn(self) -> None:
        profile = self.random.choice(self.profiles)
        model = ModelSettings(connection=profile.connection, model="chosen")
        kinds = [profile, profile.with_model(model), profile.with_lost_model("gone")]
        then = snapshot_of(kinds[len(self.turns) % 3]) | ({"override": True} if len(self.turns) % 2 else {})
        turn = Turn.objects.create(
            conversation=self.conversation,
            follows=self.random.choice(self.turns[-2:]) if self.turns else None,
            parent=self.turns[-1] if self.turns else None,
            client_id=uuid.uuid4(),
            status=self.random.choice(TURN_STATES),
            status_message=self._text(),
            vision_unsupported=self.random.random() < 0.2,
            stop_requested_at=self.random.choice([None, self._later()]),
            crash_count=self.random.randrange(3),
            started_at=self._later(),
        )
        changed = ["id"] if self.turns and self.turns[-1].profile_snapshot["id"] != then["id"] else []
        since = turn.pk if changed or not self.turns else self.turns[-1].profile_snapshot["since"]
        turn.profile_snapshot = {**then, "changed": changed, "since": since}
        self.turns.append(turn)
        self._message(turn, None, "user", "Do it" + self._text())
        for number in range(1, 2 + self.random.randrange(3)):
            self._step(turn, number)
        self._side_calls(turn)
        turn.ended_at = self._later()
        turn.save()
        Turn.objects.filter(pk=turn.pk).update(created_at=self.now)

    def _usage(self) -> dict[str, Any]:
        priced = self.random.random() < 0.5
        return {
            "endpoint": "https://api.example.org/v1",
            "model": "m-1",
            "input_tokens": self.random.randrange(10**6),
            "output_tokens": self.random.randrange(10**4),
            "cached_tokens": self.random.randrange(100),
            "reasoning_tokens": self.random.randrange(100),
            "estimated": self.random.random() < 0.3,
            "cost": Decimal(self.random.randrange(10**9)).scaleb(-8) if priced else None,
            "currency": "EUR" if priced else "",
            "ended_at": self._later(),
        }

    def _step(self, turn: Turn, number: int) -> None:
        reminder = self.random.choice(["", "", "<reminder>Update your todos.</reminder>"])
        finish = self.random.choice(["stop", "tool_calls", ""])
        step = turn.steps.create(
            number=number, reminder=reminder, edit_note=self._text(), finish_reason=finish, **self._usage()
        )
        Step.objects.filter(pk=step.pk).update(started_at=self._later())
        self._message(turn, step, "assistant", self._text())
        for index in range(self.random.randrange(self.calls + 1)):
            self._call(step, index)
        if self.random.random() < 0.3:
            self._message(turn, step, "user", "And also " + self._text())

    def _message(self, turn: Turn, step: Step | None, role: str, text: str) -> None:
        message = Message.objects.create(
            turn=turn,
            step=step,
            role=role,
            text=text,
            reasoning=self._text() if role == "assistant" else "",
            extra=self.random.choice([{}, {"reasoning_details": [{"text": self._text(), "n": 1.5}]}]),
            cut_off=self.random.random() < 0.1,
        )
        Message.objects.filter(pk=message.pk).update(created_at=self._later())
        if role == "user" and self.random.random() < 0.5:
            names = {"path": "uploads/notes.txt", "sent_path": "uploads/first.txt"}
            Attachment.objects.create(message=message, size=7, **names)
            about = self.random.choice(self.pictures)
            Attachment.objects.create(message=message, path=about["name"], **_without_name(about))

    def _call(self, step: Step, index: int) -> None:
        name = self.random.choice(["TodoWrite", "read_file", "write_file", "bash", "server__tool"])
        status = self.random.choice(CALL_STATES)
        decision = self.random.choice(["", "once", "denied"])
        call: ToolCall = step.turn.tool_calls.create(
            step=step,
            index=index,
            call_id=f"call_{self.random.randrange(10**9)}",
            name=name,
            arguments='{"path": "a.txt", "content": "b"}',
            extra=self.random.choice([{}, {"signature": "abc"}]),
            status=status,
            output=self._text() * self.random.randrange(5),
            detail=self._detail(name),
            shortened="shorter" if self.random.random() < 0.2 else "",
            shortened_in=self.random.choice([None, step.turn]),
            decision=decision,
            reason=self._text() if decision == "denied" else "",
            asked_at=self._later() if decision else None,
            decided_at=self._later() if decision else None,
            started_at=self._later(),
            ended_at=self._later(),
        )
        ToolCall.objects.filter(pk=call.pk).update(created_at=self._later())
        if name == "TodoWrite" and status == "succeeded":
            self._revise(call)

    def _detail(self, name: str) -> dict[str, Any]:
        if name == "write_file":
            return {"path": "a.txt", "before": None, "after": self._text(), "cut": False, "state": "0" * 32}
        if name == "read_file" and self.random.random() < 0.5:
            return {"pictures": [self.random.choice(self.pictures)]}
        return {}

    def _revise(self, call: ToolCall) -> None:
        kept = [item for item in self.items if self.random.random() < 0.8]
        for item in kept:
            item["status"] = self.random.choice(["pending", "in_progress", "completed"])
        added = {"id": new_id(), "content": self._text() or "Item", "status": "pending"}
        self.items = [*kept, {**added, "active_form": "Doing", "key": ""}]
        revision = TodoRevision.write(call.turn, call, "focused", [dict(item) for item in self.items])
        TodoRevision.objects.filter(pk=revision.pk).update(created_at=self._later())
        if self.items and self.random.random() < 0.5:
            self._edit(call.turn)

    def _edit(self, turn: Turn) -> None:
        """The user skips the first item."""
        skipped = self.items.pop(0)["id"]
        items = [dict(item) for item in self.items]
        revision = TodoRevision.edit(turn, "focused", items, [skipped], kept=self.random.random() < 0.3)
        revision.delivered_in_step = self.random.choice([None, turn.steps.order_by("pk").last()])
        revision.save(update_fields=["delivered_in_step"])
        TodoRevision.objects.filter(pk=revision.pk).update(created_at=self._later())

    def _side_calls(self, turn: Turn) -> None:
        if self.random.random() < 0.5:
            SideCall.objects.create(turn=turn, purpose="title", **self._usage())
        if len(self.turns) > 1 and self.random.random() < 0.6:
            made = SideCall.objects.create(turn=turn, purpose="summary", **self._usage())
            Summary.objects.create(
                turn=turn,
                number=1,
                until=self.turns[-2],
                until_step=self.random.choice([None, 1]),
                text=self._text(),
                carried="Summary: " + self._text(),
                side_call=self.random.choice([None, made]),
            )

    def _finish(self) -> None:
        for status in ("held", "taken_back", "delivered"):
            turn = self.turns[-1] if status == "delivered" else None
            text = "Then this " + self._text()
            held = FollowUp.objects.create(
                conversation=self.conversation, turn=turn, client_id=uuid.uuid4(), text=text, status=status
            )
            about = self.random.choice(self.pictures)
            Attachment.objects.create(follow_up=held, path=about["name"], **_without_name(about))
        if self.random.random() < 0.3:
            BulkAct.carry_out(self.conversation.owner, "dismiss", [self.conversation.pk])
        for word in self.random.sample(["work", "Größe", "中文 标签"], 2):
            self.conversation.tags.add(Tag.of(self.conversation.owner_id, word))
        Conversation.objects.filter(pk=self.conversation.pk).update(
            created_at=BEGIN,
            updated_at=self._later(),
            pinned=self.random.random() < 0.5,
            archived_at=self.random.choice([None, self._later()]),
        )
        self.conversation.refresh_from_db()


def _without_name(about: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in about.items() if name != "name"}
