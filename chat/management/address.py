"""The site's URL."""

from __future__ import annotations


def site_address(host: str, port: int) -> str:
    """The URL for a server that listens on `host` and `port`, without a trailing slash."""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 (all interfaces, including loopback)
        host = "127.0.0.1" if host != "::" else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
