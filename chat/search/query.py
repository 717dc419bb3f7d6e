"""Queries: what a person typed into the search box, as terms that a conversation must have."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from chat.search.store import Term
from chat.search.words import prepared, words_of

MAX_LENGTH = 200  # characters
MAX_TERMS = 12
_PARTS = re.compile(r'["“”„＂]([^"“”„＂]*)["“”„＂]|([^\s"“”„＂]+)')
MIN_OPEN = 3  # letters of a word that may go on; a shorter one goes on only where nothing has it whole


class QueryRefused(ValueError):  # noqa: N818 (a refusal, told to the person who searches)
    """There is nothing to search for in this; the text says why."""


@dataclass(frozen=True)
class Query:
    """Terms that all have to occur in a conversation, in the order in which they were typed."""

    terms: tuple[Term, ...]


def query_of(typed: str) -> Query:
    """The query that was typed: words, and phrases in quotes. Raises QueryRefused for one that cannot be."""
    typed = prepared(typed)
    if len(typed) > MAX_LENGTH:
        raise QueryRefused(_("Shorten your search to at most %(most)s characters.") % {"most": MAX_LENGTH})
    terms = [_term(phrase or word, is_phrase=bool(phrase)) for phrase, word in _PARTS.findall(typed)]
    found = tuple(dict.fromkeys(term for term in terms if term.words))
    if not found:
        raise QueryRefused(_("There is nothing here to search for. Enter letters or digits."))
    if len(found) > MAX_TERMS:
        raise QueryRefused(_("Shorten your search to at most %(most)s words.") % {"most": MAX_TERMS})
    return Query(found)


def _term(text: str, *, is_phrase: bool) -> Term:
    words = [word for word in words_of(text) if not word.inner]
    if not words:
        return Term(())
    last = words[-1]
    if last.lone and len(words) > 1 and words[-2].end == last.end:
        words.pop()  # the text may go on behind it, and then has it in a pair alone
        return Term(tuple(word.text for word in words), exact=True)
    is_open = last.lone or (not is_phrase and len(last.text) >= MIN_OPEN)
    return Term(tuple(word.text for word in words), is_open, exact=is_phrase)
