"""What a person does to several conversations of a list at once, and takes back."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from chat.live.broadcast import publish_sidebar, ring_stop
from chat.models import BulkAct, TagRefused
from chat.models.bulk import Undone
from chat.pages.conversations import ConversationList
from chat.pages.search_form import SearchForm
from chat.pages.signed_in import SignedInRequest
from chat.turns.deleted import stop_deleted


@require_POST
def bulk(request: SignedInRequest) -> HttpResponse:
    """Do what the pressed button says to the chosen conversations, then show the list with an Undo."""
    keys = _chosen(request)
    if not keys:
        messages.info(request, _("Select conversations first."))
        return back_to_list(request)
    try:
        done = act_on(request, _kind(request), keys)
    except TagRefused as refusal:
        messages.error(request, str(refusal))
    else:
        if not done.count:
            messages.info(request, _("Nothing to change."))
    return back_to_list(request)


@require_POST
def undo(request: SignedInRequest, bulk_act_id: uuid.UUID) -> HttpResponse:
    """Take back what was done, as far as nobody has changed it since."""
    done = get_object_or_404(BulkAct, pk=bulk_act_id, owner=request.user)
    try:
        undone = done.undo(request.user)
    except TagRefused as refusal:
        messages.error(request, str(refusal))
        return back_to_list(request)
    async_to_sync(publish_sidebar)(request.user.pk, "organised")
    messages.info(request, sentence_of_undoing(undone))
    return back_to_list(request)


def act_on(request: SignedInRequest, kind: str, keys: Iterable[uuid.UUID], word: str = "") -> BulkAct:
    """Do it to these, of the person's own, and let every tab know; what runs in deleted ones is stopped.

    Raises TagRefused, and Http404 for a kind that there is none of.
    """
    if kind not in BulkAct.Kind.values:
        raise Http404
    done = BulkAct.carry_out(request.user, kind, keys, word or request.POST.get("word", ""))
    if kind == BulkAct.Kind.DELETE:
        for turn_id in stop_deleted():
            async_to_sync(ring_stop)(turn_id)
    async_to_sync(publish_sidebar)(request.user.pk, "organised")
    return done


def back_to_list(request: SignedInRequest) -> HttpResponseRedirect:
    """The list as the form's page showed it."""
    given = QueryDict(request.POST.get("listing", ""))
    query = ConversationList.asked(SearchForm(given)).query
    page = given.get("page", "")
    parts = [query, f"page={page}" if page.isdecimal() else ""]
    query = "&".join(filter(None, parts))
    return HttpResponseRedirect(reverse("conversations") + (f"?{query}" if query else ""))


def _kind(request: SignedInRequest) -> str:
    """What the pressed button stands for; the one at a row names the row."""
    at_row = next((kind for kind in ("pin", "unpin") if kind in request.POST), "")
    return at_row or request.POST.get("kind", "")


def _chosen(request: SignedInRequest) -> list[uuid.UUID]:
    at_row = request.POST.get("pin") or request.POST.get("unpin")
    if at_row:
        return _keys([at_row])
    if request.POST.get("all"):
        listing = ConversationList.asked(SearchForm(QueryDict(request.POST.get("listing", ""))))
        return list(listing.of(request.user).order_by("pk").values_list("pk", flat=True))
    return _keys(request.POST.getlist("c"))


def _keys(given: Iterable[str]) -> list[uuid.UUID]:
    """The keys among them; what is none is left out."""
    keys = []
    for each in given:
        try:
            keys.append(uuid.UUID(each))
        except ValueError:
            continue
    return keys


def sentence_of(act: BulkAct) -> str:
    """What was done: for the person who did it."""
    count = act.count
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
        "dismiss": ngettext(
            "Plan of %(count)s conversation dismissed.",
            "Plans of %(count)s conversations dismissed.",
            count,
        ),
        "delete": ngettext("%(count)s conversation deleted.", "%(count)s conversations deleted.", count),
    }
    return sentences[act.kind] % {"count": count, "word": act.word}


def sentence_of_undoing(undone: Undone | None) -> str:
    """What came of an Undo."""
    if undone is None:
        return _("This was already undone, or it is too late to undo it.")
    restored = ngettext(
        "%(count)s conversation restored.",
        "%(count)s conversations restored.",
        undone.restored,
    ) % {"count": undone.restored}
    if not undone.left:
        return restored
    left = ngettext(
        "%(count)s has changed since and was left as it is.",
        "%(count)s have changed since and were left as they are.",
        undone.left,
    ) % {"count": undone.left}
    return f"{restored} {left}"
