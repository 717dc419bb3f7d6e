"""Production files: the variables they pass on, and what they must not contain."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import yaml

from tests.serving import ROOT

COMPOSE: Any = yaml.safe_load((ROOT / "compose.yaml").read_text())
SITE = ["web", "worker"]
# Set by the image for its inside, or of no use in production.
LEFT_OUT = {"DATA_DIR", "BIND", "DEBUG"}


def read_by_settings() -> set[str]:
    """The names of all environment variables that the settings read."""
    tree = ast.parse((ROOT / "agentsite" / "settings.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        ast.literal_eval(call.args[0])
        for call in calls
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "environment"
    }


def test_compose_passes_every_variable_on() -> None:
    read = read_by_settings()
    assert {"SECRET_KEY", "LOCAL_SERVERS", "TIME_ZONE"} < read
    assert COMPOSE["services"]["web"]["environment"].keys() == read - LEFT_OUT
    assert COMPOSE["services"]["worker"]["environment"].keys() == read - LEFT_OUT - {"WORKER"}
    for service in SITE:
        for name, value in COMPOSE["services"][service]["environment"].items():
            chosen_here = name in ("DATABASE_URL", "REDIS_URL", "WORKER")
            source = "POSTGRES_PASSWORD" if name == "DATABASE_PASSWORD" else name
            assert value is None or chosen_here or f"${{{source}:" in value, f"{name} cannot be set"


def test_every_variable_is_in_the_table() -> None:
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| (`[A-Z_`, ]+`) \|", readme, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"[A-Z_]+", row)}
    assert documented - {"DEMO_PACE"} == read_by_settings()


def test_the_environment_file_names_what_is_read() -> None:
    lines = (ROOT / "deploy" / "agentsite.env").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert values.keys() <= read_by_settings()
    for secret in ("SECRET_KEY", "DATABASE_PASSWORD", "METRICS_TOKEN", "OPENAI_API_KEY"):
        assert values[secret] == "", "whoever forgets it must not end up with one that everybody knows"
    assert not re.search(r"://[^/]*:[^/]*@", "\n".join(values.values())), "no address has a password in it"


def test_a_password_in_compose_is_part_of_no_address() -> None:
    for service in SITE:
        environment = COMPOSE["services"][service]["environment"]
        assert environment["DATABASE_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")
        assert "$" not in environment["DATABASE_URL"]
    assert "POSTGRES_PASSWORD" in COMPOSE["services"]["postgres"]["environment"]


def test_containers_reach_the_host() -> None:
    for service in SITE:
        described = COMPOSE["services"][service]
        assert "host.docker.internal:host-gateway" in described["extra_hosts"]
        assert "host.docker.internal:11434" in described["environment"]["LOCAL_SERVERS"]


def test_the_port_of_a_container_is_one_variable() -> None:
    (published,) = COMPOSE["services"]["web"]["ports"]
    assert published == "127.0.0.1:${PORT:-8000}:${PORT:-8000}"
    assert COMPOSE["services"]["web"]["environment"]["PORT"] == "${PORT:-8000}"


def test_the_health_check_follows_the_port() -> None:
    check = (ROOT / "Dockerfile").read_text().partition("HEALTHCHECK")[2]
    _python, *arguments = json.loads(check[check.index("[") : check.index("]\n") + 1])
    asked = []

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Site) as site:
        Thread(target=site.handle_request, daemon=True).start()
        environment = {"PORT": str(site.server_port)}
        subprocess.run([sys.executable, *arguments], env=environment, check=True, timeout=30)
    assert asked == ["/healthz"]


def test_instances_of_units_name_a_port() -> None:
    deploy = ROOT / "deploy"
    texts = "".join(path.read_text() for path in [*deploy.glob("*.service"), deploy / "README.md"])
    for unit in ("web", "worker"):
        start = re.search(
            r"^ExecStart=.* ([\w.:%]+)$", (deploy / f"agentsite-{unit}@.service").read_text(), re.M
        )
        assert start
        assert start[1] == "127.0.0.1:%i"
        instances = re.findall(rf"agentsite-{unit}@(\d+)", texts)
        assert len(instances) >= 4
        assert all(1024 <= int(instance) < 65536 for instance in instances)
