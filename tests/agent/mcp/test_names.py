"""The names of MCP tools as the model reads them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from chat.agent.mcp import offered_name
from chat.agent.mcp.server import NAME

FIT = re.compile(r"[a-zA-Z0-9_-]{1,64}")
servers = st.from_regex(NAME, fullmatch=True).filter(lambda name: len(name) <= 32)
tools = st.text(min_size=1, max_size=200)


def test_a_name_that_fits_stays_as_it_is() -> None:
    assert offered_name("git", "git_log") == "git__git_log"


def test_a_name_that_does_not_fit_is_marked() -> None:
    dotted, slashed = offered_name("git", "log.all"), offered_name("git", "log/all")
    assert dotted.startswith("git__log_all_")
    assert dotted != slashed
    assert len(offered_name("git", "x" * 100)) == 64


@given(servers, tools)
def test_every_name_is_one_that_providers_take(server: str, tool: str) -> None:
    assert FIT.fullmatch(offered_name(server, tool))
    assert offered_name(server, tool).partition("__")[0] == server


@given(servers, st.lists(tools, unique=True, max_size=30))
def test_no_two_tools_share_a_name(server: str, names: list[str]) -> None:
    assert len({offered_name(server, name) for name in names}) == len(names)
