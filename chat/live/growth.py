"""How a message that is being written grows."""

from __future__ import annotations

from chat.agent import Reasoning, Text, TextWasReasoning
from chat.models import Message
from chat.models.text import clean

Written = Text | Reasoning | TextWasReasoning


def grow(message: Message, event: Written) -> bool:
    """Take in what the model wrote; says whether the message is to be drawn anew for it.

    Only text, and reasoning after the first of it, can be added to what is on the page.
    """
    had_reasoning = bool(message.reasoning)
    match event:
        case Text(text):
            message.text += clean(text)
            return False
        case Reasoning(text):
            message.reasoning += clean(text)
            return not had_reasoning
        case TextWasReasoning():
            message.reasoning, message.text = message.reasoning + message.text, ""
            return True
