"""Pictures for a model: validity, position in the messages, and limits."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.pictures import (
    MAX_BYTES,
    MAX_PICTURES,
    MAX_TOTAL_BYTES,
    Picture,
    fault_of,
    image_type,
    pictures_field,
    with_pictures,
)
from tests.pictures import png

JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0" + b"\0" * 60 + b"\xff\xd9"
GIF = b"GIF89a\x01\0\x01\0" + b"\0" * 40 + b"\0;"
WEBP = b"RIFF" + (40).to_bytes(4, "little") + b"WEBPVP8 " + b"\0" * 32


@pytest.mark.parametrize(
    ("data", "kind"),
    [(png(), "png"), (JPEG, "jpeg"), (GIF, "gif"), (WEBP, "webp")],
    ids=["png", "jpeg", "gif", "webp"],
)
def test_a_whole_picture_goes_and_half_of_one_does_not(data: bytes, kind: str) -> None:
    assert image_type(data) == f"image/{kind}"
    assert fault_of(data) == ""
    assert fault_of(data + b"\0" * 20) == "", "some programs add a little"
    assert fault_of(data[:-8]) == "damaged"


def test_a_large_one_does_not_go() -> None:
    assert fault_of(png(padding=MAX_BYTES)) == "large"
    assert fault_of(b"<svg/>" * 10) == "damaged"


def shown(messages: list[dict[str, Any]]) -> list[int]:
    contents = [message["content"] for message in messages]
    return [
        sum(part["type"] == "image_url" for part in each) if isinstance(each, list) else 0
        for each in contents
    ]


def test_those_of_results_stand_after_all_results() -> None:
    one, two = (Picture.of(name, png()) for name in ("one.png", "two.png"))
    messages = [
        {"role": "user", "content": "Look", **pictures_field([one])},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "tool_call_id": "1", "content": "a picture", **pictures_field([one])},
        {"role": "tool", "tool_call_id": "2", "content": "another", **pictures_field([two])},
        {"role": "user", "content": "and this"},
    ]
    sent = with_pictures(messages, "en")
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert shown(sent) == [1, 0, 0, 0, 2, 0]
    texts = [part["text"] for part in sent[4]["content"] if part["type"] == "text"]
    assert texts == ["The pictures of these results:", "one.png:", "two.png:"]
    assert "pictures" in messages[0], "what was given stays as it was"


def test_one_that_is_gone_is_named() -> None:
    (sent,) = with_pictures(
        [{"role": "user", "content": "Look", **pictures_field([Picture("a.png", "image/png", 1)])}], "en"
    )
    assert sent["content"][-1]["text"] == "[a.png is left out: the picture is not kept any more.]"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("fault", ["large", "damaged", "full", "refused"])
def test_every_fault_has_a_sentence(fault: str, language: Any) -> None:
    picture = Picture("a.png", "image/png", 9 * 2**20, fault=fault)
    (sent,) = with_pictures([{"role": "user", "content": "Look", **pictures_field([picture])}], language)
    assert sent["content"][-1]["text"].startswith("[a.png ")


@given(st.lists(st.integers(1, MAX_BYTES), max_size=60))
def test_a_request_has_as_many_as_it_may(sizes: list[int]) -> None:
    pictures = [Picture(f"{n}.png", "image/png", size, read=lambda: b"x") for n, size in enumerate(sizes)]
    messages = [{"role": "user", "content": each.name, **pictures_field([each])} for each in pictures]
    before: list[int] = []
    changes = 0
    for count in range(len(messages) + 1):
        now = shown(with_pictures(messages[:count], "en"))
        kept = [size for size, has in zip(sizes, now, strict=False) if has]
        assert len(kept) <= MAX_PICTURES
        assert sum(kept) <= MAX_TOTAL_BYTES
        assert not count or now[-1] == 1, "the newest always goes"
        assert all(was >= stays for was, stays in zip(before, now, strict=False)), "none comes back"
        changes += now[: len(before)] != before
        before = now
    assert changes <= 1 + 2 * sum(sizes) / MAX_TOTAL_BYTES + len(sizes) / (MAX_PICTURES // 2)


def test_leaving_out_is_seldom() -> None:
    pictures = [Picture.of(f"{n}.png", png()) for n in range(60)]
    messages = [{"role": "user", "content": "", **pictures_field([each])} for each in pictures]
    sent = [with_pictures(messages[:count], "en") for count in range(61)]
    same = [later[: len(sooner)] == sooner for sooner, later in itertools.pairwise(sent)]
    assert same.count(False) == 4
