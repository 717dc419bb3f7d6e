"""Search results: matching conversations, and the hits in them with excerpts and addresses."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from django.urls import reverse
from markdown_it import MarkdownIt

from chat.models import Conversation, Message, SearchEntry, TodoRevision, ToolCall
from chat.models.conversation_queries import ConversationQuerySet
from chat.models.follow_up import read_named_files
from chat.search import documents
from chat.search.query import Query
from chat.search.store import Store, Term, store
from chat.search.words import MAX_RAW_LENGTH, Word, folded, prepared, words_of

Kind = SearchEntry.Kind
MAX_ENTRIES = 200  # entries of one conversation


@dataclass(frozen=True)
class SearchHit:
    """One match; `row` is the object that it is in, None for files."""

    kind: Kind
    row: Any
    address: str
    excerpt: Sequence[Part]


@dataclass(frozen=True)
class Result:
    """A conversation with its best hits, and the number of further ones."""

    conversation: Conversation
    title: Sequence[Part]
    hits: Sequence[SearchHit]
    more: int = 0


def results(conversations: Sequence[Conversation], matches: Matches, max_hits: int) -> list[Result]:
    """The results for these conversations of one owner, with up to `max_hits` hits each."""
    conversations_by_state = {each.search_index_state.pk: each for each in conversations}
    entries = _entries(conversations[0].owner_id, conversations_by_state, matches) if conversations else {}
    terms = matches.terms
    entries = {index_state: _each_once(best) for index_state, best in entries.items()}
    shown = {index_state: best[:max_hits] for index_state, best in entries.items()}
    sources = _Sources(entry for best in shown.values() for entry in best)
    return [
        Result(
            conversation,
            excerpt(prepared(conversation.title), terms),
            [hit for entry in shown.get(index_state, []) if (hit := sources.hit(conversation, entry, terms))],
            len(entries.get(index_state, [])) - len(shown.get(index_state, [])),
        )
        for index_state, conversation in conversations_by_state.items()
    ]


def _entries(
    owner: int, states: Mapping[int, Conversation], matches: Matches
) -> dict[int, list[SearchEntry]]:
    """The entries of each index state that match a term, best first."""
    counts: dict[int, Counter[int]] = {index_state: Counter() for index_state in states}
    for term in matches.terms:
        for index_state, entry in matches.store.entries(owner, term, states):
            if len(counts[index_state]) < MAX_ENTRIES or entry in counts[index_state]:
                counts[index_state][entry] += 1
    rows = SearchEntry.objects.in_bulk([entry for counted in counts.values() for entry in counted])
    branched = [counted for index_state, counted in counts.items() if states[index_state].path_version]
    elsewhere = _in_other_versions(
        [rows[entry] for counted in branched for entry in counted if entry in rows]
    )
    return {index_state: _best_first(counted, rows, elsewhere) for index_state, counted in counts.items()}


def _best_first(
    counts: Counter[int], rows: Mapping[int, SearchEntry], elsewhere: set[int]
) -> list[SearchEntry]:
    """With more of the terms first, then what the conversation shows, then files behind the rest."""

    def rank(entry: int) -> tuple[int, bool, bool, int]:
        return -counts[entry], entry in elsewhere, rows[entry].kind == Kind.FILE, entry

    return [rows[entry] for entry in sorted((entry for entry in counts if entry in rows), key=rank)]


def _each_once(best: Sequence[SearchEntry]) -> list[SearchEntry]:
    """Each source once, and an item of several lists in the first of them; without titles."""
    things: dict[tuple[str, int, str], SearchEntry] = {}
    for entry in best:
        row = 0 if entry.kind == Kind.TODO else entry.row
        things.setdefault((entry.kind, row, entry.place), entry)
    return [thing for thing in things.values() if thing.kind != Kind.TITLE]


def _in_other_versions(entries: Sequence[SearchEntry]) -> set[int]:
    """The keys of those that their conversations do not show."""
    models: dict[str, Any] = {Kind.MESSAGE: Message, Kind.CALL: ToolCall, Kind.TODO: TodoRevision}
    hidden: set[int] = set()
    for kind, model in models.items():
        of_kind = {entry.pk: entry.row for entry in entries if entry.kind == kind}
        if of_kind:
            others = model.objects.filter(pk__in=of_kind.values(), turn__on_path=False)
            rows = set(others.values_list("pk", flat=True))
            hidden |= {entry for entry, row in of_kind.items() if row in rows}
    return hidden


def has_all(text: str, terms: Iterable[Term]) -> bool:
    """Whether each term is in the text."""
    return all(hits(text, [term]) for term in terms)


class _Sources:
    """The rows of the entries, read in one query per kind."""

    def __init__(self, entries: Iterable[SearchEntry]) -> None:
        keys: dict[str, set[int]] = {kind: set() for kind in Kind.values}
        for entry in entries:
            keys[entry.kind].add(entry.row)
        self.messages = Message.objects.select_related("turn").in_bulk(keys[Kind.MESSAGE])
        read_named_files(self.messages.values())
        self.calls = ToolCall.objects.select_related("turn").in_bulk(keys[Kind.CALL])
        self.revisions = TodoRevision.objects.select_related("turn").in_bulk(keys[Kind.TODO])

    def hit(self, conversation: Conversation, entry: SearchEntry, terms: Sequence[Term]) -> SearchHit | None:
        """The hit with the row's current text; None if the row was deleted or no longer has it."""
        row, text, address = self._source(conversation, entry)
        chunks = documents.chunks_of(text)
        if entry.part >= len(chunks):
            return None
        excerpt_parts = _excerpt_of(entry, row, chunks[entry.part], terms)
        matched = [piece.text for piece in excerpt_parts if piece.hit]
        matched_text = max(matched, key=lambda text: " " in text, default="")
        if matched_text and isinstance(row, Message | ToolCall):  # the page highlights it
            sign = "&" if "?" in address else "?"
            address = address.replace("#", f"{sign}{urlencode({'find': matched_text})}#")
        return SearchHit(Kind(entry.kind), row, address, excerpt_parts)

    def _source(self, conversation: Conversation, entry: SearchEntry) -> tuple[Any, str, str]:
        page = reverse("conversation", args=[conversation.pk])
        match entry.kind:
            case Kind.MESSAGE if message := self.messages.get(entry.row):
                return message, documents.text_of_message(message), _address(page, message)
            case Kind.CALL if call := self.calls.get(entry.row):
                return call, documents.text_of_call(call), _address(page, call)
            case Kind.TODO if revision := self.revisions.get(entry.row):
                return self._todo(conversation, revision, entry.place)
            case Kind.FILE:
                address = f"{reverse('file', args=[conversation.pk])}?path={quote(entry.place)}"
                return None, entry.place, address
        return None, "", ""

    def _todo(self, conversation: Conversation, revision: TodoRevision, item_id: str) -> tuple[Any, str, str]:
        item = _item_of(revision, item_id)
        if not item:
            return None, "", ""
        return item, documents.text_of_item(item), _address_of_item(conversation, revision, item)


def _item_of(revision: TodoRevision, item_id: str) -> dict[str, Any] | None:
    return next((item for item in revision.items if str(item.get("id", "")) == item_id), None)


def _address_of_item(conversation: Conversation, revision: TodoRevision, item: dict[str, Any]) -> str:
    """The plan as it is now if the item still says the same, or the revision that said it first."""
    if not revision.turn.on_path:
        return f"{reverse('conversation', args=[conversation.pk])}?version={revision.turn_id}"
    item_id = str(item.get("id", ""))
    plan, place = reverse("plan", args=[conversation.pk]), f"#item-{quote(item_id)}"
    latest = conversation.path_revisions.order_by("pk").last()
    now = latest and _item_of(latest, item_id)
    if now and documents.text_of_item(now) == documents.text_of_item(item):
        return plan + place
    return f"{plan}?revision={conversation.path_revisions.filter(pk__lte=revision.pk).count()}{place}"


def _excerpt_of(entry: SearchEntry, row: Any, text: str, terms: Sequence[Term]) -> list[Part]:
    """Of a call without its name, and of an item without its active form, unless only these match."""
    if isinstance(row, Message) and row.role == Message.Role.ASSISTANT:
        return rendered_excerpt(text, terms)
    first, _newline, rest = text.partition("\n")
    own = {Kind.CALL: "" if entry.part else rest, Kind.TODO: first}.get(Kind(entry.kind), "")
    parts = excerpt(own, terms)
    return parts if any(part.hit for part in parts) else excerpt(text, terms)


def _address(page: str, row: Message | ToolCall) -> str:
    """Where the row is shown; on another path, the page says so and leads there."""
    version = "" if row.turn.on_path else f"?version={row.turn_id}&from={row.dom_id}"
    return f"{page}{version}#{row.dom_id}"


MAX_NAMED_KEYS = 500  # keys named in a query; for more, all keys are fetched


@dataclass(frozen=True)
class Matches:
    """The matching index states, newest first, and the terms as they were matched."""

    states: list[int]
    terms: tuple[Term, ...]
    store: Store


def find(conversations: ConversationQuerySet, owner: int, query: Query) -> Matches:
    """The owner's conversations that contain all terms of the query, anywhere in them.

    Where none does, short words are prefixes, too: what one types may be the beginning of a word, although
    another conversation has it as a whole one.
    """
    index_store = store()
    terms = query.terms
    states = _states_with(index_store, owner, terms)
    opened = tuple(replace(term, open=term.open or not term.exact) for term in terms)
    if not states and opened != terms:
        terms, states = opened, _states_with(index_store, owner, opened)
    return Matches(_in_order(conversations, states), terms, index_store)


def _states_with(index_store: Store, owner: int, terms: tuple[Term, ...]) -> set[int]:
    """The states that have all terms."""
    return set.intersection(*(index_store.matching_states(owner, term) for term in terms))


def _in_order(conversations: ConversationQuerySet, states: set[int]) -> list[int]:
    if not states:
        return []
    if len(states) <= MAX_NAMED_KEYS:
        conversations = conversations.filter(search_index_state__in=states)
    all_states = conversations.values_list("search_index_state", flat=True)
    return [index_state for index_state in all_states if index_state in states]


EXCERPT_LENGTH = 200  # characters
LEAD = 60  # of them before the hit
MAX_HITS = 100  # hits considered for the excerpt
AROUND = 200  # characters of Markdown that are read before and after the excerpt
_BLANKS = re.compile(r"\s+")
Span = tuple[int, int]


@dataclass(frozen=True)
class Part:
    """A piece of an excerpt; `hit` if it matches, `code` if it is code in Markdown."""

    text: str
    hit: bool = False
    code: bool = False


def excerpt(text: str, terms: Iterable[Term], code: Sequence[Span] = ()) -> list[Part]:
    """The part of a prepared text with the most hits, or its beginning; whitespace is collapsed.

    `code` are the places of code in the text.
    """
    spans = hits(text, terms)
    start, end = _best(text, spans)
    before = [Part("…")] if start else []
    after = [Part("…")] if end < len(text) else []
    return [*before, *_pieces(text, start, end, spans, code), *after]


def rendered_excerpt(text: str, terms: Sequence[Term]) -> list[Part]:
    """The same of a Markdown text as it is read, without its signs, if the hit is in what is read."""
    start, end = _best(text, hits(text, terms))
    first_line = text.find("\n", max(0, start - AROUND), start) + 1
    begin = first_line or max(0, start - AROUND)
    fences = _FENCE.findall(text, 0, begin)
    opened = f"{fences[-1]}\n" if len(fences) % 2 else ""  # code that begins before what is read
    read, code = _read_markdown(opened + text[begin : end + AROUND])
    parts = excerpt(read, terms, code)
    return parts if any(part.hit for part in parts) else excerpt(text, terms)


def _best(text: str, spans: Sequence[Span]) -> Span:
    start = _start(text, spans)
    return start, min(len(text), start + EXCERPT_LENGTH)


def _start(text: str, spans: Sequence[Span]) -> int:
    """A little before the hit that has most hits after it, preferably at the start of a word.

    Hits of several words come first, as "Part 5" of the words "Part" and "5".
    """

    def hits_nearby(span: Span) -> int:
        return sum(span[0] <= other[0] < span[0] + EXCERPT_LENGTH - LEAD for other in spans)

    if not spans:
        return 0
    of_several_words = [span for span in spans if _BLANKS.search(text, *span)]
    best = max((of_several_words or spans)[:MAX_HITS], key=hits_nearby)[0]
    start = max(0, best - LEAD)
    blank = _BLANKS.search(text, start, best) if start else None
    return blank.end() if blank and blank.end() - start <= LEAD // 2 else start


def _pieces(text: str, start: int, end: int, hits: Sequence[Span], code: Sequence[Span]) -> Iterator[Part]:
    """The text from `start` to `end`, cut where a hit or code begins or ends."""
    cuts = {start, end, *(place for span in (*hits, *code) for place in span if start < place < end)}
    for first, last in itertools.pairwise(sorted(cuts)):
        in_hit, in_code = (any(span[0] <= first < span[1] for span in spans) for spans in (hits, code))
        yield Part(_BLANKS.sub(" ", text[first:last]), in_hit, in_code)


_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _read_markdown(source: str) -> tuple[str, list[Span]]:
    """What is read of a short Markdown text, and where code is in it."""
    text, code = "", list[Span]()
    for token in _MARKDOWN.parse(source):
        for each in token.children or [token]:
            is_code = each.type in ("code_inline", "fence", "code_block")
            if is_code:
                code.append((len(text), len(text) + len(each.content)))
            is_break = each.type in ("softbreak", "hardbreak")
            text += " " if is_break else each.content
        text += "\n" if token.content else ""
    return text, code


def hits(text: str, terms: Iterable[Term]) -> list[Span]:
    """The terms' positions in the text, in order, without overlaps; terms that follow each other have one."""
    terms = list(terms)
    if len(terms) > 1:
        terms.append(Term(tuple(word for term in terms for word in term.words), terms[-1].open))
    words = list(words_of(text))
    plain = [word for word in words if not word.inner]
    inner = [word for word in words if word.inner]
    spans = [span for term in terms for span in _spans(text, term, plain, inner)]
    return _merged(sorted(spans))


def _spans(text: str, term: Term, plain: Sequence[Word], inner: Sequence[Word]) -> Iterator[Span]:
    *before, _last = term.words
    for last in _matching_positions(term, plain):
        first = last - len(before)
        if first >= 0 and all(plain[first + number].text == word for number, word in enumerate(before)):
            yield plain[first].start, _end(text, term, plain[last])
    if not before:
        yield from ((inner[at].start, _end(text, term, inner[at])) for at in _matching_positions(term, inner))


def _matching_positions(term: Term, words: Sequence[Word]) -> list[int]:
    last = term.words[-1]
    if term.open:
        return [at for at, word in enumerate(words) if word.text.startswith(last)]
    return [at for at, word in enumerate(words) if word.text == last]


def _end(text: str, term: Term, word: Word) -> int:
    length = len(term.words[-1])
    for end in range(word.start + 1, min(word.end, word.start + MAX_RAW_LENGTH)):
        if len(folded(text[word.start : end])) >= length:
            return end
    return word.end


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
