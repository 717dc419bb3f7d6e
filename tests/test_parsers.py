"""Everything that reads foreign text, fed with 64 KiB of the worst for it: none takes more than linear time.

`re` holds the interpreter's lock while it matches: a reader that takes quadratic time stops the process.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import httpx2
import pytest
from django.template.defaultfilters import truncatechars

from chat.agent import arguments
from chat.agent.calls import match_tool_name
from chat.agent.meter import text_tokens
from chat.agent.model.adaptation import trait_changes
from chat.agent.model.assembly import Assembly, OpenCall
from chat.agent.model.errors import ErrorReport, error_text, page_title
from chat.agent.model.failures import _wait
from chat.agent.model.protocol import ToolCallDelta
from chat.agent.model.reasoning_tags import ReasoningTags
from chat.agent.model.response import sse_data
from chat.agent.model.traits import Traits
from chat.agent.title import as_title
from chat.agent.todo import POLICIES, TODO_WRITE, TodoList
from chat.agent.tool import ToolError, schema_check
from chat.agent.tools.bash import without_terminal_codes
from chat.agent.turn import Draft
from chat.demo.demo_request import History, files_listed, split_notes
from chat.demo.steps import listed, numbered
from chat.export.markdown_file import code, fenced, inline, prose, quoted
from chat.export.validation import check_turns, parse
from chat.files.names import safe_name
from chat.files.preview import table_of
from chat.live import markdown
from chat.live.diff import diff_of
from chat.models.follow_up import named_in
from chat.models.message import MessageRefused, checked_message, title_of
from chat.models.tag import checked
from chat.models.tool_call import shell_program
from chat.models.url_validation import origin_of
from chat.search.documents import chunks_of
from chat.search.query import query_of
from chat.search.results import excerpt
from chat.search.store import Term
from chat.search.words import prepared, words_of
from chat.templatetags.rendering import plainly

SIZE = 64 * 1024
MOST_YARDS = 15  # about a second of the processor's time on a machine of 2025

BLANKS = (" ", "\t", "\n", "\r\n", " \n", "\u3000")
LETTERS = ("a", "aA", "a1", "1", "a ", "a\u0301", "\u0301", "中", "ｱ", "é_", "ab.")
CODES = ("\x1b", "\x1b[", "\x1b[0;", "\x1b]", "\x1b]a\x1b")
MARKUP = ("<", "<a ", "</think>\n", "<think>\n</think>\n", "<title>", "<h1", "&#", "&amp;")
MARKS = (
    '"',
    "'",
    "`",
    "```\n",
    "\\",
    "**",
    "*a ",
    "_",
    "a_",
    "___a",
    "(",
    "![",
    "[a](",
    "[a]: b\n",
    "> ",
    "- a\n",
)
MARKS += ("$a ", "$$", "$$a\n", "$$a\n\n", "$a^2$", "\\(", "\\(a\\)", "\\[\n")
MARKS += (
    "https://",
    "https://a ",
    "https://a.中 ",
    "https://58中.c",
    "/中a",
    "[^a]",
    "[^1]: a\n",
    "- [ ] a\n",
    "[a](b.c)",
    "![a](b.c)",
    "[a](sandbox:/b.c)",
)
MARKS += ("<b>", "<b>a</b>", "<b><i></b>", "</b>", "<b>*", "<br", "<br>", "> [!NOTE]\n", "> [!NOTE]\n\n")
MARKS += ("<details>\n", "<details>\n\n", "</details>\n", "<details><summary>a</summary>\n", "<summary>")
MARKS += ("1) a\n", "|a|b\n|-|-\n", "~~", "a\n===\n", "    ", "`a`", ",", ", ", ":", "$(", "a/", "../")
REFUSALS = (ValueError, RecursionError, ToolError, MessageRefused)
ANY = (*BLANKS, *LETTERS, *CODES, *MARKUP, *MARKS)


def full(piece: str, ahead: str = "", behind: str = "") -> str:
    """A text of full length of that piece."""
    return ahead + (piece * SIZE)[: SIZE - len(ahead) - len(behind)] + behind


def seconds(reader: Callable[[Any], object], text: Any) -> float:
    """The reader's own time, without what the interpreter takes to look for garbage in all of the process."""
    gc.disable()
    try:
        began = time.thread_time()
        with suppress(*REFUSALS):
            reader(text)
        return time.thread_time() - began
    finally:
        gc.enable()


def yard() -> float:
    """What a fixed piece of work takes, in seconds: a machine's speed changes from minute to minute."""
    return seconds(lambda count: [number * number for number in range(count)], 1_000_000)


def is_quick(reader: Callable[[Any], object], text: Any, most_yards: float = MOST_YARDS) -> bool:
    """Whether the text is read soon enough, at least once in three times."""
    return any(seconds(reader, text) < most_yards * yard() for _again in range(3))


def grows_linearly(reader: Callable[[Any], object], piece: str) -> bool:
    """Whether a text takes about eight times as long as its eighth; in quadratic time it were 64."""
    return any(
        seconds(reader, full(piece))
        < max(MOST_YARDS * yard(), 16 * seconds(reader, full(piece)[: SIZE // 8]))
        for _again in range(3)
    )


def every_word(text: str) -> None:
    list(words_of(prepared(text)))


def every_part(text: str) -> None:
    for part in chunks_of(text):
        list(words_of(part))
        excerpt(part, [Term(("a",), open=True), Term(("a" * 60,), open=True)])


def as_it_grows(text: str) -> None:
    growing = markdown.Settling()
    for eighths in range(1, 9):
        growing.text = text[: eighths * len(text) // 8]
        growing.advance()


def as_events(text: str) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        data = text.encode()
        for start in range(0, len(data), 100):
            yield data[start : start + 100]

    async def take() -> None:
        async for _data in sse_data(chunks()):
            pass

    asyncio.run(take())


def letter_by_letter(text: str) -> None:
    reader = ReasoningTags()
    for letter in text:
        list(reader.read(letter))
    list(reader.rest())


def at_once(text: str) -> None:
    reader = ReasoningTags()
    list(reader.read(text))
    list(reader.rest())


def complaints(text: str) -> None:
    for body in (text, {"error": {"message": text}}, {"error": json.dumps({"error": text})}):
        trait_changes(ErrorReport.of(400, body), {}, Traits())
    error_text(text)
    page_title(text)
    _wait(httpx2.Headers({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": text.strip()}))


def demo(text: str) -> None:
    history = History.read([{"role": "user", "content": text}])
    listed(history.text)
    numbered(history.text)
    split_notes(text)
    files_listed(history.text)


def names(text: str) -> None:
    for read_one in (
        safe_name,
        table_of,
        shell_program,
        origin_of,
        checked,
        query_of,
        named_in,
        title_of,
        checked_message,
    ):
        seconds(read_one, text)
    match_tool_name(text, ["bash", "read_file"])


def as_markdown_file(text: str) -> None:
    for write in (quoted, prose, fenced, inline, code):
        write(text)


refusal_code = import_module("chat.migrations.0025_refusal_codes").refusal_code


def shown(text: str) -> None:
    plainly(text)
    without_terminal_codes(text)
    truncatechars(text, 200)
    text_tokens(text)
    as_title(text)
    for ahead in ("Error: Item 0: invalid status '", "Error: the arguments"):
        refusal_code(ahead + text)


def compared(text: str) -> None:
    middle = len(text) // 2
    for other in (text[::-1], text[1:], text[:middle] + "x\n" + text[middle:], "\n".join(text[:20_000])):
        diff_of(text, other)


READERS: list[Callable[[str], None]] = [
    *(
        lambda text: markdown.render(text),
        lambda text: markdown.render_typed(text),
        as_it_grows,
        every_word,
        every_part,
        as_events,
        letter_by_letter,
        at_once,
    ),
    *(complaints, demo, names, as_markdown_file, shown, compared),
]


@pytest.mark.parametrize("reader", READERS)
def test_a_text_of_the_worst_pieces(reader: Callable[[str], None]) -> None:
    eighth = {piece: seconds(reader, full(piece)[: SIZE // 8]) for piece in ANY}
    slowest = sorted(eighth, key=eighth.__getitem__)[-3:]  # what is quadratic is among these
    for piece in slowest:
        assert is_quick(reader, full(piece)[: SIZE // 8]), piece
        assert grows_linearly(reader, piece), piece


def test_texts_that_were_known_to_be_slow() -> None:
    known: list[tuple[Callable[[str], object], str]] = [
        (every_word, full("a1")),
        (every_part, full("\u0301", "a")),
        (letter_by_letter, full(" ")),
        (letter_by_letter, full(" ", "a\n")),
        (at_once, full("</think>\n", "<think> a\n<think>\n")),
        (letter_by_letter, full("</think>\n", "a ``` b\n")),
        (complaints, full("1", behind="x")),
        (complaints, full("<title>", "<html>")),
        (demo, full(" ", "Write a list, then run it", "x")),
        (demo, full("`a`", "Write ")),
        (as_title, full("_", "a", "a")),
        (lambda text: markdown.render(text), full("![")),
        (lambda text: markdown.render(text), full("</i>", "<b>" * (SIZE // 6))),
        (as_it_grows, full("</b>", "<b>" * (SIZE // 6))),
    ]
    for reader, text in known:
        assert is_quick(reader, text), text[:40]


def test_arguments_of_calls() -> None:
    texts = [full(piece, '{"a": ') for piece in ("[", '{"a":', "[1,", '"', "1", "-", "1e", " ", "null,")]
    texts += [
        full(piece, '{"a": "', '"}') for piece in ("\\\\", "\\n", "\\u00e9", "\\ud800", "{", "[", "\n", "a")
    ]
    texts += [
        '{"a": [' + ",".join(["1"] * (SIZE // 2)) + "]}",
        json.dumps({"a": json.dumps({"b": ["[1]"] * 9000})}),
    ]
    texts += [
        "{" + ",".join(f'"{number}":1' for number in range(7000)) + "}",
        full("9"),
        full("[") + full("]"),
    ]
    for text in texts:
        for reader in (arguments.decoded, arguments.readable, arguments.as_object, read_import):
            assert is_quick(reader, text), text[:20]


def read_import(text: str) -> None:
    list(check_turns(parse(text.encode())))


def test_arguments_that_come_in_pieces() -> None:
    for piece in ("a", '"', "{", "[", '{"id":"a","content":"b"},'):
        text = full(piece, '{"items": [{"content": "')
        for step in (1, 64):
            assert is_quick(in_pieces(step), text, 4 * MOST_YARDS), (piece, step)


def in_pieces(step: int) -> Callable[[str], None]:
    def read_on(text: str) -> None:
        call, assembly = OpenCall("1", TODO_WRITE), Assembly([TODO_WRITE])
        draft = Draft(TodoList(POLICIES["focused"]))
        for start in range(0, len(text), step):
            delta = ToolCallDelta(0, "", TODO_WRITE, text[start : start + step], {})
            call.add(delta)
            assembly.add(delta)
            draft.read([call])

    return read_on


def deep_schema(levels: int) -> dict[str, Any]:
    """One that asks for two checks of the next level on each level."""
    level = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**level, f"l{levels}": {}}, "properties": {"a": {"$ref": "#/$defs/l0"}}}


def test_schemas_of_tool_servers() -> None:
    pattern = {"pattern": "^(a+)+$"}
    schemas: list[tuple[dict[str, Any], Any]] = [
        ({"properties": {"a": pattern}}, full("a", behind="!")),
        ({"properties": {"a": {"pattern": "(.*,){20}x"}}}, full(",")),
        ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, "x"),
        ({"propertyNames": pattern}, "x"),
        ({"properties": {"a": {"uniqueItems": True}}}, [{"a": number} for number in range(8000)]),
        ({"properties": {"a": {"items": {"enum": list(range(8000))}}}}, ["x"] * 8000),
        ({"properties": {"a": {"items": {"type": "integer"}}}}, ["x"] * 16_000),
        ({"$ref": "#"}, "x"),
        (deep_schema(40), "x"),
    ]
    for schema, value in schemas:
        given = {"a": value, full("a", behind="!"): 1}
        assert is_quick(schema_check(schema), given), str(schema)[:60]


def test_a_pattern_is_still_checked() -> None:
    check = schema_check(
        {
            "properties": {
                "a": {"pattern": "^[a-z]+$"},
                "b": {"pattern": "^(?!x)"},
                "c": {"uniqueItems": True},
            },
            "patternProperties": {"^n_": {"type": "integer"}},
            "additionalProperties": False,
        }
    )
    assert check({"a": "abc", "b": "xyz", "n_1": 1, "c": [1, 2]}) == {
        "a": "abc",
        "b": "xyz",
        "n_1": 1,
        "c": [1, 2],
    }
    for wrong, said in (
        ({"a": "1"}, "'1' does not match"),
        ({"n_1": "x"}, "n_1: 'x' is not of type"),
        ({"z": 1}, "'z' was unexpected"),
        ({"c": [1, 1]}, "c: a list has non-unique elements"),
    ):
        with pytest.raises(ToolError, match=said):
            check(wrong)
