"""Who may see a view. `tests/pages/test_who_may_see.py` proves it for every address."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

from asgiref.sync import iscoroutinefunction
from django.contrib.auth.decorators import login_not_required
from django.http import Http404

Audience = Literal["anyone", "signed_in", "owner", "staff", "superuser"]
View = Callable[..., Any]


def audience(who: Audience) -> Callable[[View], View]:
    """Declare who may see a view; the outermost decorator.

    `anyone`: also without an account; all others are sent to the login page by LoginRequiredMiddleware.
    `signed_in`: every user, who sees and changes only what is their own.
    `owner`: the owner of the row that the address names. To other users it does not exist: the view finds
    it among the user's own, and answers 404.
    `staff`, `superuser`: for others it does not exist either.
    """

    def declare(view: View) -> View:
        declared = _only(f"is_{who}", view) if who in ("staff", "superuser") else view
        declared.audience = who  # type: ignore[attr-defined]
        return login_not_required(declared) if who == "anyone" else declared

    return declare


def _only(attribute: str, view: View) -> View:
    """Answer 404 to users without the attribute."""

    if iscoroutinefunction(view):

        @wraps(view)
        async def answer(request: Any, *args: Any, **kwargs: Any) -> Any:
            if not getattr(await request.auser(), attribute):
                raise Http404
            return await view(request, *args, **kwargs)

    else:

        @wraps(view)
        def answer(request: Any, *args: Any, **kwargs: Any) -> Any:
            if not getattr(request.user, attribute):
                raise Http404
            return view(request, *args, **kwargs)

    return answer
