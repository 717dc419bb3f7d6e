"""The settings. README.md lists every variable; an invalid value stops the start."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from agentsite import environment
from agentsite.logs import logging_settings
from agentsite.private import kept_secret_key, private_file, private_folder

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = private_folder(environment.path("DATA_DIR", BASE_DIR / "var"))
DEBUG = environment.flag("DEBUG")
SECRET_KEY = environment.secret("SECRET_KEY") or kept_secret_key(DATA_DIR / "secret_key")

# Where the site listens, and which hosts and proxies it accepts.
BIND = environment.text("BIND", "127.0.0.1")
PORT = environment.whole("PORT", 8000, 0, 65535)
LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS", LOOPBACK)
if "*" in ALLOWED_HOSTS and not DEBUG:
    raise ImproperlyConfigured("ALLOWED_HOSTS must name the site's hosts; '*' is for DEBUG=1 alone.")
TRUSTED_ORIGINS = environment.origins("TRUSTED_ORIGINS")
TRUST_PROXY = environment.flag("TRUST_PROXY")

# The model: any chat-completions endpoint, or the built-in demo when none of the three is set.
MODEL_BASE_URL = environment.url("OPENAI_BASE_URL") or None
MODEL_API_KEY = environment.text("OPENAI_API_KEY") or None
MODEL_NAME = environment.text("OPENAI_MODEL")
# HTTP proxy for model endpoints. Endpoints set up by users who are not staff are always reached directly.
MODEL_PROXY = environment.url("MODEL_PROXY") or None
# Seconds for which an endpoint may send nothing, before a reply and within it. 0: the model's known value.
MODEL_FIRST_BYTE_SECONDS = environment.number("MODEL_FIRST_BYTE_SECONDS", 0, 1, 86400)
LOCAL_MODEL_FIRST_BYTE_SECONDS = environment.number("LOCAL_MODEL_FIRST_BYTE_SECONDS", 0, 1, 86400)
MODEL_SILENCE_SECONDS = environment.number("MODEL_SILENCE_SECONDS", 0, 1, 86400)
# No retry starts later than this after the first attempt.
MODEL_RETRY_SECONDS = environment.number("MODEL_RETRY_SECONDS", 120, 0, 86400)
DEMO = not (MODEL_BASE_URL or MODEL_API_KEY or MODEL_NAME)
MODEL_NAME = MODEL_NAME or ("demo" if DEMO else "gpt-5-mini")
# Whether users who are not staff may set up endpoints, at public addresses.
USER_CONNECTIONS = environment.flag("USER_CONNECTIONS", True)
# Where local model servers usually listen.
LOCAL_SERVERS = environment.host_ports(
    "LOCAL_SERVERS", ["127.0.0.1:11434", "127.0.0.1:1234", "127.0.0.1:8080", "127.0.0.1:8000"]
)
# Dotted paths, so that the rest of the chat does not import the demo.
MODEL_TRANSPORT = "chat.demo.transport.demo_transport" if DEMO else None
WORKSPACE_SEED = "chat.demo.workspace.seed" if DEMO else None

# The agent's work.
SANDBOX = environment.choice("SANDBOX", ["bwrap", "off"], "bwrap")
DRAIN_SECONDS = environment.number("DRAIN_SECONDS", 5, 0, 3600)
# Turns mostly wait for the model; commands use the CPU.
MAX_TURNS = environment.whole("MAX_TURNS", 50, 1, 1000)
MAX_COMMANDS = environment.whole("MAX_COMMANDS", 2 * len(os.sched_getaffinity(0)), 1, 1000)
# The most turns that one user can run if there are other users, and that one user can queue.
MAX_TURNS_PER_USER = environment.whole("MAX_TURNS_PER_USER", max(1, MAX_TURNS * 3 // 4), 1, 1000)
MAX_QUEUED_PER_USER = environment.whole("MAX_QUEUED_PER_USER", 20, 1, 10_000)
# How long a turn waits for the user's approval of a call.
APPROVAL_SECONDS = environment.number("APPROVAL_SECONDS", 24 * 3600, 0.1, 366 * 24 * 3600)
# In the site's process, or only in `runworker` processes.
WORKER = environment.choice("WORKER", ["embedded", "none"], "embedded")
WORKSPACES = DATA_DIR / "workspaces"
# Directories that conversations may be opened on, and the quota of a conversation's own workspace.
WORKSPACE_ROOTS = environment.folders("WORKSPACE_ROOTS")
if any(
    DATA_DIR.resolve().is_relative_to(root)
    or BASE_DIR.is_relative_to(root)
    or root.is_relative_to(WORKSPACES.resolve())
    for root in WORKSPACE_ROOTS
):
    raise ImproperlyConfigured(
        "WORKSPACE_ROOTS must not hold the site itself or DATA_DIR, which has its keys."
    )
MAX_WORKSPACE_BYTES = environment.whole("MAX_WORKSPACE_BYTES", 500 * 2**20, 2**20, 2**50)
MAX_WORKSPACE_FILES = environment.whole("MAX_WORKSPACE_FILES", 20_000, 10, 10**9)
MAX_UPLOAD_BYTES = environment.whole("MAX_UPLOAD_BYTES", 25 * 2**20, 0, 2**31)

INSTALLED_APPS = [
    "daphne",
    "chat",
    "channels",
    "axes",
    "agentsite.admin.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "agentsite.middleware.PageCompression",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "agentsite.middleware.content_security_policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "agentsite.accounts.ReadersLanguage",
    "django.contrib.messages.middleware.MessageMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "agentsite.urls"
ASGI_APPLICATION = "agentsite.asgi.application"
TEMPLATE_LOADERS = ["agentsite.templates.Loader", "django.template.loaders.app_directories.Loader"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [("django.template.loaders.cached.Loader", TEMPLATE_LOADERS)],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "chat.pages.sidebar.sidebar",
                "chat.pages.settings.preferences.reader",
            ],
        },
    },
]

# IMMEDIATE: take the write lock at the start of a transaction, where SQLite can wait for it.
SQLITE_OPTIONS = {
    "timeout": 10,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=10000;",
}
# The pool doubles its delay after each failed connection; reset it after 5 seconds, so that it reconnects
# soon after a long outage.
POSTGRES_OPTIONS = {"pool": {"min_size": 1, "max_size": 16, "timeout": 10, "reconnect_timeout": 5}}


def database() -> dict[str, Any]:
    address = environment.url(
        "DATABASE_URL", f"sqlite:///{DATA_DIR}/db.sqlite3", ["sqlite", "postgres", "postgresql"]
    )
    parsed: dict[str, Any] = dict(dj_database_url.parse(address))
    # A separate variable, because some characters cannot stand unencoded in a URL.
    parsed["PASSWORD"] = environment.text("DATABASE_PASSWORD") or parsed["PASSWORD"]
    is_sqlite = parsed["ENGINE"].endswith("sqlite3")
    if is_sqlite and Path(parsed["NAME"]).parent == DATA_DIR:
        private_file(Path(parsed["NAME"]))
    options = {**(SQLITE_OPTIONS if is_sqlite else POSTGRES_OPTIONS), **parsed.get("OPTIONS", {})}
    # Without checks, each pooled connection would fail one request after a restart of PostgreSQL.
    return {**parsed, "CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": True, "OPTIONS": options}


DATABASES = {"default": database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = environment.url("REDIS_URL", schemes=["redis", "rediss", "unix"])
if WORKER == "none" and not REDIS_URL:
    raise ImproperlyConfigured("WORKER must be embedded where REDIS_URL is unset: no other worker is heard.")
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": (
        {"BACKEND": "chat.live.channel_layers.RedisLayer", "CONFIG": {"hosts": [REDIS_URL]}}
        if REDIS_URL
        else {"BACKEND": "chat.live.channel_layers.MemoryLayer"}
    )
}

LANGUAGE_CODE = environment.choice("LANGUAGE_CODE", ["en", "zh-hans"], "en")
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
TIME_ZONE = environment.time_zone("TIME_ZONE", "UTC")
USE_TZ = True
LOCALE_PATHS = [BASE_DIR / "chat" / "locale"]
FORMAT_MODULE_PATH = "chat.locale"

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "agentsite.static_files.JoinedFinder",
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "servestatic.storage.CompressedManifestStaticFilesStorage"},
}

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "agentsite.accounts.Accounts",
    "django.contrib.auth.backends.ModelBackend",
]
# Wrong passwords: see agentsite/login_limit.py.
AXES_HANDLER = "agentsite.login_limit.LoginLimit"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address"]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = datetime.timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "agentsite.login_limit.locked_out"
AXES_CLIENT_IP_CALLABLE = "agentsite.login_limit.client_address"
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": name}
    for name in (
        "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "chat.pages.account.MinimumLengthValidator",
        "django.contrib.auth.password_validation.CommonPasswordValidator",
        "django.contrib.auth.password_validation.NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "new_conversation"
LOGOUT_REDIRECT_URL = "login"
SESSION_COOKIE_AGE = 30 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "chat.pages.account.form_expired"
CSRF_TRUSTED_ORIGINS = TRUSTED_ORIGINS
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
if TRUST_PROXY:
    # The proxy terminates TLS and sets this header.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for sub-domains is the operator's decision
    "security.W008",  # the TLS proxy redirects
    "security.W021",  # and so is HSTS preloading
]

METRICS_TOKEN = environment.secret("METRICS_TOKEN")
LOGGING = logging_settings(environment.choice("LOG_FORMAT", ["plain", "json"], "plain"))
