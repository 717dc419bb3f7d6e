"""Server-sent events as real endpoints send them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from chat.agent.model.response import MAX_EVENT, sse_data

HARD = 'data: {"text": "你好 🎈"}\n\ndata: [DONE]\n\n'.encode()


async def data_of(*chunks: bytes) -> list[str]:
    async def given() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [data async for data in sse_data(given())]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
async def test_any_line_end_will_do(line_end: bytes) -> None:
    assert await data_of(b"data: a\n\ndata: b\n\n".replace(b"\n", line_end)) == ["a", "b"]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
async def test_every_byte_may_come_on_its_own(line_end: bytes) -> None:
    whole = HARD.replace(b"\n", line_end)
    one_by_one = [whole[place : place + 1] for place in range(len(whole))]
    assert await data_of(*one_by_one) == ['{"text": "你好 🎈"}', "[DONE]"]


async def test_comments_event_names_and_other_fields_are_passed_over() -> None:
    stream = b": OPENROUTER PROCESSING\n\n: ping\n\nevent: message\nid: 7\nretry: 3\ndata: a\n\n"
    assert await data_of(stream) == ["a"]


async def test_the_space_after_the_colon_may_be_missing() -> None:
    assert await data_of(b"data:a\n\ndata:  b\n\n") == ["a", " b"]


async def test_data_of_several_lines_is_one_event() -> None:
    assert await data_of(b'data: {"a":\ndata: 1}\n\n') == ['{"a":\n1}']


@pytest.mark.parametrize("cut", [1, 2, 3])
async def test_a_byte_order_mark_is_no_part_of_the_first_event(cut: int) -> None:
    stream = b"\xef\xbb\xbfdata: a\n\ndata: b\n\n"
    assert await data_of(stream[:cut], stream[cut:]) == ["a", "b"]


async def test_a_last_event_without_its_empty_line_counts() -> None:
    assert await data_of(b"data: a\n\ndata: b") == ["a", "b"]
    assert await data_of(b"data: a\r") == ["a"]


async def test_bytes_that_are_no_utf8_are_marked_and_not_fatal() -> None:
    assert await data_of(b"data: a\xff\n\n") == ["a\ufffd"]


async def test_a_body_that_is_no_event_stream_is_given_whole() -> None:
    assert await data_of(b"<html>\n\nSign in\n", b"data: x\n</html>\n") == ["x"]
    assert await data_of(b'{\n  "a": 1\n', b"}") == ['{\n  "a": 1\n}']
    assert await data_of() == await data_of(b"\n\n") == []


async def test_json_that_stands_bare_among_events_is_one() -> None:
    assert await data_of(b': ping\n\n{"error": "e"}\nnoise\n\ndata: a\n\n') == ['{"error": "e"}', "a"]


async def test_the_data_of_an_error_event_is_an_error() -> None:
    assert await data_of(b"event: error\ndata: gone\n\ndata: a\n\n") == ['{"error": "gone"}', "a"]


async def test_an_event_without_end_is_refused() -> None:
    half = b"data: " + b"x" * (MAX_EVENT // 2)
    with pytest.raises(ValueError, match="without end"):
        await data_of(half, half, half)
    line = b"data: " + b"x" * (MAX_EVENT // 4) + b"\n"
    with pytest.raises(ValueError, match="without end"):
        await data_of(*[line] * 5)
