"""Where a browser finds the site."""

from __future__ import annotations


def site_address(host: str, port: int) -> str:
    """The address to open for a server that listens on `host` and `port`, without a slash at its end."""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 (every interface, this machine's own among them)
        host = "127.0.0.1" if host != "::" else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
