"""Which pages the script moves between without a load, and the header bar that all of them share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from chat.models import Conversation
from tests.pages.routes import address, routes

pytestmark = pytest.mark.django_db

SCRIPT = (Path(settings.BASE_DIR) / "static/js/navigate.js").read_text()
PAGES = re.compile(re.search(r"/(\^.*\$)/;", SCRIPT)[1].replace("\\/", "/"))  # type: ignore[index]
NOT_OPENED = ("admin:", "before_sign_out", "offered_models")  # other pages, and a list that no link leads to


def test_the_script_knows_the_pages_of_the_frame(owners: Client, conversation: Conversation) -> None:
    seen = set()
    for name in routes():
        if name.startswith(NOT_OPENED):
            continue
        path = address(name, conversation_id=conversation.pk)
        response = owners.get(path)
        is_page = (
            response.status_code == 200 and not response.streaming and b'id="content"' in response.content
        )
        if is_page:
            seen.add(name)
            assert PAGES.match(path), path
            assert response.content.count(b'<header class="bar') == 1, path
        elif response.status_code == 200:
            assert not PAGES.match(path), path
    assert seen >= {
        "new_conversation",
        "conversation",
        "conversations",
        "board",
        "plan",
        "files",
        "shares",
        "tags",
    }
    assert seen >= {"connections", "profiles", "usage", "preferences", "import", "models"}


@pytest.mark.parametrize("name", ["plan", "files", "shares"])
def test_one_way_back(owners: Client, conversation: Conversation, name: str) -> None:
    page = owners.get(reverse(name, args=[conversation.pk])).content.decode()
    [back] = re.findall(r'<a[^>]*rel="up"[^>]*>', page)
    assert f'href="{reverse("conversation", args=[conversation.pk])}"' in back
