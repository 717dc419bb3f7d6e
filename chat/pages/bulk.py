"""Actions on several conversations of the list at once, and their undo."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from chat.live.broadcast import notify_stop, publish_regions, publish_sidebar
from chat.models import BulkAct, TagRefused
from chat.models.bulk import Undone
from chat.models.tag import without_sign
from chat.pages.audience import audience
from chat.pages.conversations import ListQuery
from chat.pages.search_form import SearchForm
from chat.pages.signed_in import SignedInRequest
from chat.turns.deleted import stop_deleted


@audience("signed_in")
@require_POST
def bulk(request: SignedInRequest) -> HttpResponse:
    keys = selected_keys(request)
    if not keys:
        messages.info(request, _("Select conversations first."))
        return back_to_list(request)
    try:
        act = act_on(request, request.POST.get("kind", ""), keys)
    except TagRefused as refusal:
        messages.error(request, str(refusal))
    else:
        if not act.count:
            messages.info(request, _("Nothing to change."))
    return back_to_list(request)


@audience("owner")
@require_POST
def undo(request: SignedInRequest, bulk_act_id: uuid.UUID) -> HttpResponse:
    """Undo an action for all conversations that have not changed since.

    The answer leads to the list, or to the one of them that `conversation` names.
    """
    act = get_object_or_404(BulkAct, pk=bulk_act_id, owner=request.user)
    try:
        undone = act.undo(request.user)
    except TagRefused as refusal:
        messages.error(request, str(refusal))
        return back_to_list(request)
    _publish(act)
    if "HX-Request" in request.headers:
        return render(request, "partials/_undone.html", {"sentence": undo_message(act, undone)})
    shown = _parse_keys([request.POST.get("conversation", "")])
    if shown and undone and undone.restored:
        return HttpResponseRedirect(reverse("conversation", args=shown))
    messages.info(request, undo_message(act, undone))
    return back_to_list(request)


def act_on(request: SignedInRequest, kind: str, keys: Iterable[uuid.UUID], word: str = "") -> BulkAct:
    """Apply the action to the user's own conversations, stop turns in deleted ones and update every tab.

    Raises TagRefused, and Http404 for an unknown kind.
    """
    if kind not in BulkAct.Kind.values:
        raise Http404
    act = BulkAct.carry_out(request.user, kind, keys, word or request.POST.get("word", ""))
    if kind == BulkAct.Kind.DELETE:
        for turn_id in stop_deleted():
            async_to_sync(notify_stop)(turn_id)
    _publish(act)
    return act


def _publish(act: BulkAct) -> None:
    changed = "unfinished" if act.kind == BulkAct.Kind.DISMISS else "organised"
    async_to_sync(publish_sidebar)(act.owner_id, changed)
    if act.kind == BulkAct.Kind.DISMISS and act.count == 1:  # heartbeats tell the tabs of several
        [key] = act.before
        async_to_sync(publish_regions)(uuid.UUID(key), "panel")


def back_to_list(request: SignedInRequest) -> HttpResponseRedirect:
    data = QueryDict(request.POST.get("listing", ""))
    query = ListQuery.from_form(SearchForm(data)).query
    page = data.get("page", "")
    query = "&".join(filter(None, [query, f"page={page}" if page.isdecimal() else ""]))
    return HttpResponseRedirect(reverse("conversations") + (f"?{query}" if query else ""))


def selected_keys(request: SignedInRequest) -> list[uuid.UUID]:
    """What the form names, or with `all` all that its list has; perhaps not the user's own."""
    if request.POST.get("all"):
        query = ListQuery.from_form(SearchForm(QueryDict(request.POST.get("listing", ""))))
        return list(query.rows(request.user).order_by("pk").values_list("pk", flat=True))
    return _parse_keys(request.POST.getlist("c"))


def _parse_keys(values: Iterable[str]) -> list[uuid.UUID]:
    keys = []
    for value in values:
        try:
            keys.append(uuid.UUID(value))
        except ValueError:
            continue
    return keys


def act_message(act: BulkAct) -> str:
    count, word = act.count, without_sign(act.word)
    of_one = {
        "archive": _("“%(title)s” archived."),
        "bring_back": _("“%(title)s” unarchived."),
        "pin": _("“%(title)s” pinned."),
        "unpin": _("“%(title)s” unpinned."),
        "tag": _("“%(title)s” tagged “%(word)s”."),
        "untag": _("Tag “%(word)s” removed from “%(title)s”."),
        "dismiss": _("Plan of “%(title)s” dismissed."),
        "delete": _("“%(title)s” deleted."),
    }
    if count == 1 and (title := act.title):
        return of_one[act.kind] % {"title": Truncator(title).chars(60), "word": word}
    sentences = {
        "archive": ngettext("%(count)s conversation archived.", "%(count)s conversations archived.", count),
        "bring_back": ngettext(
            "%(count)s conversation unarchived.", "%(count)s conversations unarchived.", count
        ),
        "pin": ngettext("%(count)s conversation pinned.", "%(count)s conversations pinned.", count),
        "unpin": ngettext("%(count)s conversation unpinned.", "%(count)s conversations unpinned.", count),
        "tag": ngettext(
            "%(count)s conversation tagged “%(word)s”.", "%(count)s conversations tagged “%(word)s”.", count
        ),
        "untag": ngettext(
            "Tag “%(word)s” removed from %(count)s conversation.",
            "Tag “%(word)s” removed from %(count)s conversations.",
            count,
        ),
        "dismiss": _("Plan dismissed.") if count == 1 else _("Plans of %(count)s conversations dismissed."),
        "delete": ngettext("%(count)s conversation deleted.", "%(count)s conversations deleted.", count),
    }
    return sentences[act.kind] % {"count": count, "word": word}


def undo_message(act: BulkAct, undone: Undone | None) -> str:
    if undone is None:
        return _("This was already undone, or it is too late to undo it.")
    count = undone.restored
    if act.kind in (BulkAct.Kind.ARCHIVE, BulkAct.Kind.DELETE):
        sentence = ngettext("%(count)s conversation restored.", "%(count)s conversations restored.", count)
    else:
        sentence = ngettext(
            "Undone for %(count)s conversation.", "Undone for %(count)s conversations.", count
        )
    restored = sentence % {"count": count}
    if not undone.left:
        return restored
    left = ngettext(
        "%(count)s has changed since and was left as it is.",
        "%(count)s have changed since and were left as they are.",
        undone.left,
    ) % {"count": undone.left}
    return f"{restored} {left}"
