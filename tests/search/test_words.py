"""How text is split into words."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chat.search.query import query_of
from chat.search.results import hits
from chat.search.store import Term
from chat.search.words import folded, prepared, words_of

CHINESE = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=12)
LATIN = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=1, max_size=12)


def words(text: str) -> list[str]:
    return [word.text for word in words_of(prepared(text)) if not word.inner]


def inner(text: str) -> list[str]:
    return [word.text for word in words_of(prepared(text)) if word.inner]


def found(typed: str, text: str) -> bool:
    """Whether a text has everything that was typed."""
    terms = query_of(typed).terms
    return all(hits(prepared(text), [term]) for term in terms)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World", ["hello", "world"]),
        ("read_file(path)", ["read", "file", "path"]),
        ("中文搜索", ["中文", "文搜", "搜索", "索"]),
        ("调用read_file读取", ["调用", "用", "read", "file", "读取", "取"]),
        ("ＲＥＡＤ　１２３", ["read", "123"]),
        ("café Ångström", ["cafe", "angstrom"]),
        ("cafe\u0301", ["cafe"]),
        ("ｶﾞｽ", ["ガス", "ス"]),
        ("がき", ["がき", "き"]),
        ("한국어", ["한국", "국어", "어"]),
        ("🚀 go", ["🚀", "go"]),
        ("don't", ["don", "t"]),
        ("Straße", ["strasse"]),
        ("-- ,，。 __", []),
        ("a\x00b", ["a", "b"]),
    ],
)
def test_words_in_order(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_words_within_a_word() -> None:
    assert inner("TodoWriteTool") == ["writetool", "tool"]
    assert inner("HTTPServer2") == ["server2", "2"]
    assert inner("plain Capital") == []


@example("\u309b\u304b\u309c")
@example("\u2474 \ufc5e")
@given(st.text())
def test_each_word_stands_where_it_says(text: str) -> None:
    text = prepared(text)
    for word in words_of(text):
        assert 0 <= word.start < word.end <= len(text)
        assert folded(text[word.start : word.end]).lstrip("( ").startswith(word.text[:1])  # as of ⑴
        assert word.text == "".join(word.text.split())


@given(CHINESE, CHINESE, CHINESE)
def test_every_part_of_a_chinese_sentence_is_found(ahead: str, part: str, behind: str) -> None:
    assert found(part, ahead + part + behind)


@given(CHINESE, LATIN, CHINESE)
def test_a_latin_word_within_chinese_is_found_and_both_together(ahead: str, word: str, behind: str) -> None:
    text = ahead + word + behind
    assert found(word, text)
    assert found(ahead[-1:] + word + behind[:1], text)


@given(st.lists(LATIN, min_size=1, max_size=6), st.data())
def test_the_beginning_of_a_word_finds_it(texts: list[str], data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from(texts))
    length = data.draw(st.integers(3, 12))
    if len(chosen) >= length:
        assert found(chosen[:length].upper(), " ".join(texts))


@given(st.text())
def test_another_way_to_write_it_is_the_same(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert words(unicodedata.normalize(form, text)) == words(text)


@pytest.mark.parametrize(
    "typed", ["read_file", "read", "file", "READ_FILE", "ｒｅａｄ＿ｆｉｌｅ", "文件read_fil"]
)
def test_an_identifier_whole_and_in_part(typed: str) -> None:
    assert found(typed, "文件read_file读取")


@pytest.mark.parametrize("typed", ["todowrite", "TodoWrite", "todo", "write", "writet"])
def test_a_name_with_humps_whole_and_in_part(typed: str) -> None:
    assert found(typed, "TodoWriteTool")


@pytest.mark.parametrize(
    ("typed", "text", "expected"),
    [
        ('"read the file"', "read the file", True),
        ('"read the file"', "the file read", False),
        ('"read the"', "read then", False),
        ("“读取 文件”", "读取，文件", True),
        ('"read', "to read", True),
        ("read the", "the reader", True),
        ("搜", "检索与搜寻", True),
        ("索", "检索", True),
    ],
)
def test_phrases_and_words(typed: str, text: str, *, expected: bool) -> None:
    assert found(typed, text) is expected


def test_what_is_found_is_marked_where_it_is_written() -> None:
    text = prepared("用ＲｅａｄFile读取文件")
    marked = [text[start:end] for start, end in hits(text, query_of("read 取文").terms)]
    assert marked == ["Ｒｅａｄ", "取文"]
    assert hits(text, [Term(("nothing",))]) == []
