"""Whether messages travel between site, worker and open tabs."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _

from chat.live.doorbell import answers
from chat.management.checks.finding import Finding


async def channel_layer() -> Finding:
    """The finding about the channel layer that REDIS_URL names, or the one in memory."""
    part = _("channel layer")
    well = await answers()
    if not settings.REDIS_URL:
        return Finding(
            part, well, _("in memory, which is fine for a single process; several need REDIS_URL.")
        )
    if well:
        return Finding(part, True, _("Redis answers."))
    cure = _(
        "Redis does not answer. Check that it is running and that REDIS_URL is right; a single process "
        "does not need it."
    )
    return Finding(part, False, cure)
