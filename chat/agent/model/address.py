"""Normalises an endpoint's address as users paste it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import httpx2

# Paths that users paste along with the address.
_ENDINGS = ("/chat/completions", "/completions", "/models", "/responses", "/embeddings")
# The API's path on hosts that are given without one.
_PATHS = {
    "openrouter.ai": "/api/v1",
    "generativelanguage.googleapis.com": "/v1beta/openai",
    "dashscope.aliyuncs.com": "/compatible-mode/v1",
    "dashscope-intl.aliyuncs.com": "/compatible-mode/v1",
    "api.groq.com": "/openai/v1",
}
_DEFAULT_PATH = "/v1"
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


@dataclass(frozen=True)
class Address:
    """`base` has no trailing slash and no query; `query` is sent with every request."""

    base: str
    query: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse an address; raises ValueError with a sentence for the user.

        `/v1`, or the host's own path, is added if there is no path. The path of a single API method
        (`/chat/completions`) is removed.
        """
        try:
            parts = urlsplit(text.strip())
            host, _port = parts.hostname or "", parts.port
        except ValueError as error:
            raise ValueError(f"This is no address: {error}.") from None
        if parts.scheme not in ("http", "https") or not host:
            raise ValueError("An address begins with http:// or https:// and has a host.")
        if parts.username or parts.password:
            raise ValueError("Leave user and password out of the address; a key has its own field.")
        path = _path(parts.path) or _default_path(host)
        base = urlunsplit((parts.scheme, parts.netloc.lower(), path, "", ""))
        try:
            httpx2.URL(base)
        except httpx2.InvalidURL as error:
            raise ValueError(f"This is no address: {error}.") from None
        return cls(base, tuple(parse_qsl(parts.query, keep_blank_values=True)))

    @property
    def origin(self) -> str:
        parts = urlsplit(self.base)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def is_azure(self) -> bool:
        return (urlsplit(self.base).hostname or "").endswith(_AZURE)


def _path(path: str) -> str:
    path = path.rstrip("/")
    for ending in _ENDINGS:
        path = path.removesuffix(ending)
    return path.rstrip("/")


def _default_path(host: str) -> str:
    return "/openai/v1" if host.lower().endswith(_AZURE) else _PATHS.get(host.lower(), _DEFAULT_PATH)
