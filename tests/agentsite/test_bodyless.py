"""What the application does for a response without a body ends with the response's head."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

from agentsite.middleware import BodylessResponses

Application = Callable[..., Awaitable[Any]]
END: list[dict[str, Any]] = [{"type": "http.response.body", "body": b""}]


class Endless:
    """A body without end, such as that of a large download: drained, it would never be done."""

    def __init__(self) -> None:
        self.taken = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            self.taken += 1
            yield b"body"

    def close(self) -> None:
        self.closed = True


body = Endless()


def endless(request: HttpRequest) -> StreamingHttpResponse:
    global body  # the view's response is all that has it
    body = Endless()
    return StreamingHttpResponse(body)


def large(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"x" * 200_000)


def status(request: HttpRequest, code: int) -> HttpResponse:
    return HttpResponse(status=code)


urlpatterns = [path("endless/", endless), path("large/", large), path("status/<int:code>/", status)]
for each in (endless, large, status):
    each.login_required = False  # type: ignore[attr-defined] # as Django's decorator does


async def sent(application: Application, method: str, path: str) -> list[dict[str, Any]]:
    """All messages of the response, once the application is done."""
    scope = {"type": "http", "method": method, "path": path, "query_string": b""}
    headers = [(b"host", b"localhost")]
    asked = ApplicationCommunicator(BodylessResponses(application), {**scope, "headers": headers})  # type: ignore[arg-type]
    await asked.send_input({"type": "http.request", "body": b""})
    await asked.wait(5)
    messages = []
    while not asked.output_queue.empty():
        messages.append(asked.output_queue.get_nowait())
    return messages


@pytest.mark.urls("tests.agentsite.test_bodyless")
async def test_an_endless_body_is_closed_unread() -> None:
    head, *rest = await sent(get_asgi_application(), "HEAD", "/endless/")
    assert head["status"] == 200
    assert rest == END
    assert body.taken == 0
    assert body.closed


@pytest.mark.urls("tests.agentsite.test_bodyless")
async def test_head_tells_the_length_that_get_has() -> None:
    head, *rest = await sent(get_asgi_application(), "HEAD", "/large/")
    assert (b"Content-Length", b"200000") in head["headers"]
    assert rest == END


@pytest.mark.urls("tests.agentsite.test_bodyless")
@pytest.mark.parametrize("code", [204, 304])
async def test_a_status_without_a_body_tells_no_length(code: int) -> None:
    head, *rest = await sent(get_asgi_application(), "GET", f"/status/{code}/")
    assert head["status"] == code
    assert b"content-length" not in {name.lower() for name, _value in head["headers"]}
    assert rest == END


@pytest.mark.parametrize("swallows", [False, True])
async def test_an_application_of_another_kind_ends_too(swallows: bool) -> None:
    left = False

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        nonlocal left
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        except BaseException:
            if not swallows:
                raise
        try:
            while True:
                await send({"type": "http.response.body", "body": b"body", "more_body": True})
        finally:
            left = True

    head, *rest = await sent(application, "HEAD", "/")
    assert head["type"] == "http.response.start"
    assert rest == END
    assert left is swallows


async def test_other_responses_pass() -> None:
    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"body"})

    head, rest = await sent(application, "GET", "/")
    assert head["headers"] == [(b"content-length", b"4")]
    assert rest["body"] == b"body"
