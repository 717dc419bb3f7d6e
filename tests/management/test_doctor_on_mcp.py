"""`manage.py doctor`: a line for each MCP server, with a cure."""

from __future__ import annotations

from chat.models import McpServer, McpTool
from tests.agent.mcp.conftest import SOURCE
from tests.management.site import Site
from tests.management.test_doctor import line


def server(name: str, *words: str) -> McpServer:
    return McpServer.objects.create(name=name, command=list(words))


def test_one_that_answers_and_one_that_does_not(site: Site) -> None:
    server("mine", "python3", "-c", SOURCE)
    server("broken", "no-such-program")
    done = site.run("doctor")
    assert done.returncode == 1
    assert line(done.stdout, "MCP broken").startswith("FAIL  MCP broken: It ended with exit code 127.")
    assert "no-such-program" in line(done.stdout, "MCP broken")
    waiting = line(done.stdout, "MCP mine")
    assert waiting.startswith("FAIL")
    assert "(mine__echo, mine__look). Review and accept them under Settings → MCP servers." in waiting
    assert "Traceback" not in done.stdout + done.stderr


def test_accepted_tools_and_one_that_no_model_takes(site: Site) -> None:
    server("mine", "python3", "-c", SOURCE, "unfit")
    site.run("doctor")
    McpTool.accept(
        [(tool.pk, tool.listed_fingerprint) for server in McpServer.objects.all() for tool in server.waiting]
    )
    done = site.run("doctor")
    assert done.returncode == 0, done.stdout
    told = line(done.stdout, "MCP mine")
    assert "answers; 2 tools are offered. mine__odd is not: it has an argument called 'a b'" in told


def test_one_that_is_switched_off_is_not_asked(site: Site) -> None:
    McpServer.objects.create(name="off", command=["no-such-program"], enabled=False)
    done = site.run("doctor")
    assert done.returncode == 0, done.stdout
    assert "MCP" not in done.stdout
