"""The settings as surroundings make them, and the one line with which a bad value stops the start."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def settings(**surroundings: str) -> dict[str, Any]:
    """The settings as a process in these surroundings has them."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in surroundings.items():
            patched.setenv(name, value)
        return runpy.run_path(str(ROOT / "agentsite" / "settings.py"))


REFUSED = {
    "ALLOWED_HOSTS": ["*", "example.org, *"],
    "DATABASE_URL": [
        "mysql://u:secret@db/site",
        "db.sqlite3",
        "postgres://u:secret@db:port/site",
        "postgres://",
    ],
    "DATA_DIR": ["/proc/version/data", "~nobody-of-that-name/data"],
    "DEBUG": ["maybe"],
    "LANGUAGE_CODE": ["de", "EN"],
    "APPROVAL_SECONDS": ["0", "a day"],
    "LOG_FORMAT": ["xml"],
    "LOCAL_SERVERS": ["127.0.0.1", "http://127.0.0.1:11434", "localhost:0", "localhost:66000"],
    "MAX_COMMANDS": ["0", "-1", "two"],
    "MAX_QUEUED_PER_USER": ["0", "many"],
    "MAX_TURNS": ["0", "many"],
    "MAX_TURNS_PER_USER": ["0", "half"],
    "MAX_UPLOAD_BYTES": ["-1", "25 MiB"],
    "MAX_WORKSPACE_BYTES": ["0", "1e9"],
    "MAX_WORKSPACE_FILES": ["9", "many"],
    "METRICS_TOKEN": ["secret@", "secret@9012345678 "],
    "MODEL_FIRST_BYTE_SECONDS": ["0", "two minutes"],
    "LOCAL_MODEL_FIRST_BYTE_SECONDS": ["-1", "inf"],
    "MODEL_SILENCE_SECONDS": ["0.5", "nan"],
    "MODEL_RETRY_SECONDS": ["-1", "for ever"],
    "MODEL_PROXY": ["proxy:3128", "socks5://proxy"],
    "OPENAI_BASE_URL": ["localhost:11434", "ftp://models"],
    "PORT": ["-1", "65536", "http"],
    "REDIS_URL": ["localhost:6379", "http://:secret@cache", "redis://cache:port"],
    "SANDBOX": ["none", "OFF"],
    "SECRET_KEY": ["secret@", "secret@890123456789"],
    "TIME_ZONE": ["Mars/Phobos", "Europe", "../etc/passwd", "/etc/localtime"],
    "TRUSTED_ORIGINS": ["example.org", "https://example.org/", "https://a.example, b.example", "*"],
    "TRUST_PROXY": ["2"],
    "USER_CONNECTIONS": ["staff"],
    "WORKER": ["None", "runworker"],
    "WORKSPACE_ROOTS": ["/nothing/here", "relative", "/", "/etc/passwd", "/usr:/nothing/here", str(ROOT)],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values]
)
def test_a_bad_value_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        settings(**{name: value})
    sentence = str(caught.value)
    assert sentence.startswith(f"{name} must ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "secret@" not in sentence


def test_the_start_stops_with_one_line() -> None:
    name = "DATABASE_URL"
    ran = subprocess.run(
        [sys.executable, "manage.py", "check"],
        env={**os.environ, name: REFUSED[name][0]},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"manage.py: {name} must ")
    assert ran.stderr.count("\n") == 1


def test_every_host_is_allowed_while_debugging() -> None:
    assert settings(ALLOWED_HOSTS="*", DEBUG="1")["ALLOWED_HOSTS"] == ["*"]


def test_the_defaults_need_nothing(data_dir: Path) -> None:
    plain = settings()
    assert (plain["DEBUG"], plain["DEMO"], plain["BIND"], plain["PORT"]) == (False, True, "127.0.0.1", 8000)
    assert plain["ALLOWED_HOSTS"] == ["localhost", "127.0.0.1", "[::1]"]
    assert (plain["MAX_TURNS"], plain["MAX_TURNS_PER_USER"]) == (50, 37)
    assert plain["MAX_COMMANDS"] == 2 * len(os.sched_getaffinity(0))
    assert plain["CHANNEL_LAYERS"]["default"]["BACKEND"] == "chat.live.channel_layers.MemoryLayer"
    assert plain["DATABASES"]["default"]["NAME"] == str(data_dir / "db.sqlite3")
    assert plain["SECRET_KEY"] == (data_dir / "secret_key").read_text()


def test_a_key_from_outside_makes_no_file(data_dir: Path) -> None:
    given = "given-with-20-letters"[:20]
    assert settings(SECRET_KEY=given)["SECRET_KEY"] == given
    assert not (data_dir / "secret_key").exists()


@pytest.mark.parametrize(
    ("given", "name", "base_url"),
    [
        ({"OPENAI_API_KEY": "sk"}, "gpt-5-mini", None),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"}, "gpt-5-mini", "http://127.0.0.1:11434/v1"),
        ({"OPENAI_MODEL": "qwen"}, "qwen", None),
    ],
)
def test_any_of_three_variables_ends_the_demo(given: dict[str, str], name: str, base_url: str | None) -> None:
    real = settings(**given)
    assert (real["DEMO"], real["MODEL_NAME"], real["MODEL_BASE_URL"]) == (False, name, base_url)
    assert real["MODEL_TRANSPORT"] is real["WORKSPACE_SEED"] is None


def test_roots_are_kept_without_links_in_them(tmp_path: Path) -> None:
    for name in ("code", "more"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("more")
    roots = settings(WORKSPACE_ROOTS=f"{tmp_path}/code : {tmp_path}/link:")["WORKSPACE_ROOTS"]
    assert roots == [(tmp_path / name).resolve() for name in ("code", "more")]


@pytest.mark.parametrize("root", ["data", "data/workspaces/x", "."])
def test_no_root_may_hold_the_sites_own_data(data_dir: Path, root: str) -> None:
    (data_dir / "workspaces" / "x").mkdir(parents=True)
    with pytest.raises(ImproperlyConfigured, match="WORKSPACE_ROOTS must not hold the site itself"):
        settings(WORKSPACE_ROOTS=str(data_dir.parent / root))


def test_sqlite_takes_its_lock_at_the_start_of_a_transaction() -> None:
    database = settings(DATABASE_URL="sqlite:////srv/site.sqlite3?timeout=3")["DATABASES"]["default"]
    assert (database["NAME"], database["CONN_MAX_AGE"]) == ("/srv/site.sqlite3", 0)
    assert database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert "journal_mode=WAL" in database["OPTIONS"]["init_command"]


def test_postgresql_has_a_pool() -> None:
    database = settings(DATABASE_URL="postgres://u:p%40ss@db:5433/site?sslmode=require")["DATABASES"][
        "default"
    ]
    told = [database[name] for name in ("USER", "PASSWORD", "HOST", "PORT", "NAME", "CONN_MAX_AGE")]
    assert told == ["u", "p@ss", "db", 5433, "site", 0]
    assert database["OPTIONS"]["sslmode"] == "require"
    assert database["OPTIONS"]["pool"]["max_size"] == 16


@pytest.mark.parametrize("password", ["pa/ss", "pa#ss", "12/ss", "12#ss", "12?ss", "pa?ss", "pa[ss", "1/@s"])
def test_a_password_that_must_be_encoded_is_what_the_sentence_is_about(password: str) -> None:
    for name, address in (
        ("DATABASE_URL", f"postgres://u:{password}@db/site"),
        ("REDIS_URL", f"redis://:{password}@db"),
    ):
        with pytest.raises(ImproperlyConfigured) as caught:
            settings(**{name: address})
        assert "percent-encode" in str(caught.value)
        assert password not in str(caught.value)


def test_an_at_sign_elsewhere_is_no_password() -> None:
    for address, name in (
        ("postgres://db:5432/site?options=a@b", "site"),
        ("sqlite:////srv/a@b/site.sqlite3", "/srv/a@b/site.sqlite3"),
        ("postgres:///a@b", "a@b"),
    ):
        assert settings(DATABASE_URL=address)["DATABASES"]["default"]["NAME"] == name


@pytest.mark.parametrize("password", ["pa/s#s?@[%41", "plain"])
def test_a_password_of_its_own_is_taken_as_it_is(password: str) -> None:
    database = settings(DATABASE_URL="postgres://u@db/site", DATABASE_PASSWORD=password)["DATABASES"][
        "default"
    ]
    assert (database["USER"], database["PASSWORD"], database["HOST"]) == ("u", password, "db")
    assert settings(DATABASE_PASSWORD=password)["DATABASES"]["default"]["ENGINE"].endswith("sqlite3")


def test_a_postgresql_on_a_unix_socket() -> None:
    database = settings(DATABASE_URL="postgres://u@%2Fvar%2Frun%2Fpg/site")["DATABASES"]["default"]
    assert (database["HOST"], database["NAME"]) == ("/var/run/pg", "site")


def test_redis_carries_the_frames() -> None:
    layer = settings(REDIS_URL="redis://cache:6379/1")["CHANNEL_LAYERS"]["default"]
    assert layer["BACKEND"] == "chat.live.channel_layers.RedisLayer"
    assert layer["CONFIG"] == {"hosts": ["redis://cache:6379/1"]}


def test_a_proxy_that_ends_tls_switches_on_what_wants_it() -> None:
    behind = settings(TRUST_PROXY="1", TRUSTED_ORIGINS="https://chat.example.org, https://b.example:8443")
    assert behind["CSRF_TRUSTED_ORIGINS"] == ["https://chat.example.org", "https://b.example:8443"]
    assert behind["SESSION_COOKIE_SECURE"]
    assert behind["CSRF_COOKIE_SECURE"]
    assert behind["SECURE_HSTS_SECONDS"] > 0
    assert not settings().get("SESSION_COOKIE_SECURE")
    assert "SECURE_PROXY_SSL_HEADER" not in settings(), "nobody else's word is taken for it"
