"""Reasoning in tags is separated from the answer, however the text is split."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.events import Reasoning, Text, TextWasReasoning
from chat.agent.model.reasoning_tags import ReasoningTags

TEXTS = {
    "Hello": ("", "Hello"),
    "": ("", ""),
    " \n": ("", ""),
    " \nHello": ("", " \nHello"),
    "<think>a</think>b": ("a", "b"),
    "\n<think>\na\n</think>\n\nb\n": ("a\n", "b\n"),
    "<think></think>b": ("", "b"),
    "<think>a": ("a", ""),
    "<think>a</thi": ("a</thi", ""),
    "<think>a</think><think>b</think>": ("a", "<think>b</think>"),
    "<thought>a</think>b</thought>c": ("a</think>b", "c"),
    "[THINK]a[/THINK]b": ("a", "b"),
    "<thinker>a": ("", "<thinker>a"),
    "b <think>a</think>": ("", "b <think>a</think>"),
    "a\n</think>\n\nb": ("a\n", "b"),
    "a\n  </think> \nb\n</think>\nc": ("a\n", "b\n</think>\nc"),
    "a\n</think>": ("a\n", ""),
    "</think>\n\nb": ("", "b"),
    "a </think> b": ("", "a </think> b"),
    "```\n</think>\n```\n": ("", "```\n</think>\n```\n"),
    "a\n<think>\nb\n</think>\n": ("", "a\n<think>\nb\n</think>\n"),
}


def read(pieces: Sequence[str]) -> tuple[str, str]:
    thinking = ReasoningTags()
    found = [told for piece in pieces for told in thinking.read(piece)]
    reasoning = text = ""
    for told in [*found, *thinking.rest()]:
        match told:
            case Text(piece):
                text += piece
            case Reasoning(piece):
                reasoning += piece
            case TextWasReasoning():
                reasoning, text = reasoning + text, ""
    return reasoning, text


@pytest.mark.parametrize("text", TEXTS)
def test_reasoning_and_answer_are_told_apart(text: str) -> None:
    assert read([text]) == TEXTS[text]


@pytest.mark.parametrize("text", TEXTS)
def test_letter_by_letter_it_is_the_same(text: str) -> None:
    assert read(list(text)) == TEXTS[text]


@given(
    pieces=st.lists(
        st.sampled_from(
            ["<think>", "</think>", "</thi", "nk>", "<", "\n", " ", "a", "```", "[THINK]", "[/THINK]"]
        )
    ),
    cuts=st.lists(st.integers(0, 60)),
)
def test_where_the_text_is_cut_makes_no_difference(pieces: list[str], cuts: list[int]) -> None:
    text = "".join(pieces)
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    assert read([text[start:end] for start, end in itertools.pairwise(places)]) == read([text])


@given(st.lists(st.sampled_from(["a", "\n", "b ", "<", "</", "think"]), min_size=1))
def test_without_tags_nothing_is_changed(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert read(pieces) == ("", text if text.strip() else "")


def test_nothing_is_held_back_that_cannot_become_a_tag() -> None:
    thinking = ReasoningTags()
    assert list(thinking.read("Hello ")) == [Text("Hello ")]
    assert list(thinking.read("<b")) == [Text("<b")]
    assert list(thinking.read("a\n</")) == [Text("a\n")]
    assert list(thinking.read("b>")) == [Text("</b>")]
