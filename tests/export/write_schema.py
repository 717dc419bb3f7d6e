"""Writes docs/export.schema.json: python -m tests.export.write_schema"""

from __future__ import annotations

import json
import os
from pathlib import Path

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
    django.setup()
    from chat.export.file_format import schema

    path = Path(__file__).parents[2] / "docs" / "export.schema.json"
    path.write_text(json.dumps(schema(), indent=2) + "\n")
