"""Search queries: the typed text as terms that a conversation must contain."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from chat.search.store import Term
from chat.search.words import prepared, words_of

MAX_LENGTH = 200  # characters
MAX_TERMS = 12
_PARTS = re.compile(r'["“”„＂]([^"“”„＂]*)["“”„＂]|([^\s"“”„＂]+)')
MIN_PREFIX = 3  # letters of a word used as a prefix; a shorter one is one only where nothing has all words


class QueryRefused(ValueError):  # noqa: N818 (a refusal, shown to the user)
    """The query is invalid; the message tells the user why."""


@dataclass(frozen=True)
class Query:
    """Terms that must all occur in a conversation, in the order they were typed."""

    terms: tuple[Term, ...]


def query_of(text: str) -> Query:
    """Parse words, and phrases in quotes; raises QueryRefused."""
    text = prepared(text)
    if len(text) > MAX_LENGTH:
        raise QueryRefused(_("Shorten your search to at most %(most)s characters.") % {"most": MAX_LENGTH})
    terms = [_term(phrase or word, is_phrase=bool(phrase)) for phrase, word in _PARTS.findall(text)]
    terms_with_words = tuple(dict.fromkeys(term for term in terms if term.words))
    if not terms_with_words:
        raise QueryRefused(_("There is nothing here to search for. Enter letters or digits."))
    if len(terms_with_words) > MAX_TERMS:
        raise QueryRefused(_("Shorten your search to at most %(most)s words.") % {"most": MAX_TERMS})
    return Query(terms_with_words)


def _term(text: str, *, is_phrase: bool) -> Term:
    words = [word for word in words_of(text) if not word.inner]
    if not words:
        return Term(())
    last = words[-1]
    if last.lone and len(words) > 1 and words[-2].end == last.end:
        words.pop()  # if the text continues, it has the character only in a pair
        return Term(tuple(word.text for word in words), exact=True)
    is_open = last.lone or (not is_phrase and len(last.text) >= MIN_PREFIX)
    return Term(tuple(word.text for word in words), is_open, exact=is_phrase)
