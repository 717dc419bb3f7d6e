"""Whether the database answers and has all its tables."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.management.checks.finding import Finding


def database() -> Finding:
    """The finding about the database that DATABASE_URL names."""
    part = _("database")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        missing = _missing()
    except (DatabaseError, ImproperlyConfigured) as error:
        return Finding(part, False, _unanswered(error))
    except InconsistentMigrationHistory as error:
        cure = _("It was made by another version of this program: %s") % error
        return Finding(part, False, cure)
    if missing:
        sentence = ngettext(
            "%d migration is not applied. Run: python manage.py migrate",
            "%d migrations are not applied. Run: python manage.py migrate",
            missing,
        )
        return Finding(part, False, sentence % missing)
    return Finding(part, True, _("%s answers, and all migrations are applied.") % connection.display_name)


def _missing() -> int:
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _unanswered(error: Exception) -> str:
    detail = " ".join(str(error).split()) or type(error).__name__
    if connection.vendor == "sqlite":
        cure = _("Check that DATA_DIR may be written, or set DATABASE_URL.")
    else:
        cure = _("Check that the server runs, and address, name and password in DATABASE_URL.")
    answer = _("%(kind)s does not answer (%(detail)s).")
    return f"{answer % {'kind': connection.display_name, 'detail': detail}} {cure}"
