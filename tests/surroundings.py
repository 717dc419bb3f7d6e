"""Loaded before the settings: tests have surroundings of their own, and never a developer's key or data."""

import atexit
import os
import shutil
import tempfile

OWN = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DATABASE_URL", "REDIS_URL", "LANGUAGE_CODE"]
OWN += ["DATABASE_PASSWORD"]
OWN += ["ALLOWED_HOSTS", "SECRET_KEY", "BIND", "PORT", "SANDBOX", "TRUSTED_ORIGINS", "TRUST_PROXY", "DEBUG"]
OWN += ["TIME_ZONE", "WORKER", "MAX_TURNS", "MAX_TURNS_PER_USER", "MAX_QUEUED_PER_USER", "MAX_COMMANDS"]
OWN += ["METRICS_TOKEN", "LOG_FORMAT"]

for name in OWN:
    os.environ.pop(name, None)
os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="agentsite-tests-")
os.environ["DEMO_PACE"] = "0"
os.environ["DRAIN_SECONDS"] = "0"
os.environ["MAX_QUEUED_PER_USER"] = "10000"  # many tests fill pages with conversations that nobody works on
os.mkdir(os.path.join(os.environ["DATA_DIR"], "static"))
atexit.register(shutil.rmtree, os.environ["DATA_DIR"], ignore_errors=True)
