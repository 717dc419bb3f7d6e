"""Numbers of usage, as short as they can be read."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext as _


def tokens(count: int | Decimal) -> str:
    """A count in three digits or so: 950, 1.2k, 34k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if count >= size - size // 2000:
            digits = 1 if count < 9.95 * size else 0
            return f"{number_format(round(float(count) / size, digits), digits)}{unit}"
    return str(int(count))


def grouped(count: int | Decimal) -> str:
    """A count with all its digits, in groups."""
    return number_format(count, force_grouping=True)


def money(cost: Decimal) -> str:
    """An amount with cents, or with as many digits as a small one needs to be told from nothing."""
    places = 2
    while places < 8 and 0 < abs(cost) < Decimal(1).scaleb(1 - places):
        places += 1
    rounded = cost.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return number_format(rounded, places, force_grouping=True)


def lasting(seconds: float) -> str:
    """A time in words: 0.4 s, 12 s, 2 min 5 s."""
    if seconds < 10:
        return _("%(seconds)s s") % {"seconds": number_format(round(seconds, 1), 1)}
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return _("%(seconds)s s") % {"seconds": rest}
    return _("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": rest}
