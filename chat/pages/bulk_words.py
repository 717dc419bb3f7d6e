"""What was done to several conversations, in words."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.models import BulkAct
from chat.models.bulk_act import Undone


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
