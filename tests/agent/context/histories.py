"""Random conversations as a turn keeps them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]

sizes = st.sampled_from([1, 30, 300, 1500])
words = sizes.map(lambda size: ("words and " * size)[: size * 4].strip() or "w")
reminders = st.sampled_from(["", "", "Update your todos."])
steps = st.tuples(words, st.lists(words, min_size=1, max_size=3), reminders, st.lists(words, max_size=2))
ended = st.tuples(words, st.lists(steps, max_size=4), words)
at_work = st.tuples(words, st.lists(steps, max_size=6))
histories = st.tuples(st.lists(ended, max_size=6), at_work).map(lambda parts: history(*parts))


def history(turns: list[Any], current: Any) -> list[Message]:
    """The messages of finished turns and of a running one."""
    messages: list[Message] = []
    for question, asked, answer in turns:
        messages += [{"role": "user", "content": question}, *_steps(asked)]
        messages.append({"role": "assistant", "content": answer})
    question, asked = current
    return [*messages, {"role": "user", "content": question}, *_steps(asked)]


def _steps(asked: list[Any]) -> list[Message]:
    messages: list[Message] = []
    for number, (said, results, reminder, notes) in enumerate(asked):
        # Ids are the step's own, as some models number theirs.
        calls = [_call(f"look:{place}", number) for place, _result in enumerate(results)]
        messages.append({"role": "assistant", "content": said, "tool_calls": calls})
        answers: list[Message] = [
            {"role": "tool", "tool_call_id": call["id"], "content": result}
            for call, result in zip(calls, results, strict=True)
        ]
        if reminder:
            answers[0]["reminder"] = reminder
        messages += answers
        messages += [{"role": "user", "content": note, "note": True} for note in notes]
    return messages


def _call(identity: str, number: int) -> Message:
    function = {"name": "read_file", "arguments": f'{{"path": "file-{number}"}}'}
    return {"id": identity, "type": "function", "function": function}
