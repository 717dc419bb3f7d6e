"""The form of a page of the settings, as browsers send it."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpResponse


def fields_of(answer: Any) -> dict[str, Any]:
    """The fields of the page's form as they are on it, with the line ends that browsers send."""
    assert isinstance(answer, HttpResponse)
    sent = {}
    for field in answer.context["form"]:  # type: ignore[attr-defined] # of the test client
        value = field.value()
        if value is not None and value is not False:
            sent[field.html_name] = value if isinstance(value, list) else "\r\n".join(str(value).splitlines())
    hidden = re.findall(r'<input type="hidden" name="(shown)" value="([^"]+)"', answer.content.decode())
    return {**sent, **dict(hidden)}
