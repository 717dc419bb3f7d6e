"""How templates draw rows and their text: with the functions that draw them for the socket."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from chat.live import fragments, markdown
from chat.models import Message

register = template.Library()


@register.simple_tag
def draw(row: fragments.Row) -> SafeString:
    """A message or a tool call."""
    return fragments.draw(row)


@register.simple_tag
def message_body(message: Message) -> SafeString:
    """The agent's markdown as HTML; while it is being written, its open end has a place of its own."""
    if message.complete:
        return mark_safe(markdown.render(message.text))  # noqa: S308 (the renderer escapes)
    settled, tail = markdown.render_open(message.text)
    end = mark_safe(tail)  # noqa: S308
    return format_html('{}<div id="{}-tail">{}</div>', mark_safe(settled), message.dom_id, end)  # noqa: S308
