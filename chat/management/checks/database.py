"""Whether the database answers and has all its tables."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.management.checks.finding import Finding

PATIENCE = 10  # seconds for a server to answer


def database() -> Finding:
    """The finding about the database that DATABASE_URL names."""
    asked = _without_pool()
    try:
        return _finding(asked)
    except (DatabaseError, ImproperlyConfigured) as error:
        return Finding(_("database"), False, _unanswered(error))
    except InconsistentMigrationHistory as error:
        sentence = _("It was created by another, incompatible version of this program: %s")
        return Finding(_("database"), False, sentence % error)
    finally:
        asked.close()


def _without_pool() -> BaseDatabaseWrapper:
    """A connection of its own: a pool tries for long, and then does not say what was wrong."""
    asked = connection.copy()
    options = asked.settings_dict["OPTIONS"]
    if options.pop("pool", None):
        options["connect_timeout"] = PATIENCE
    return asked


def _finding(asked: BaseDatabaseWrapper) -> Finding:
    executor = MigrationExecutor(asked)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if not missing:
        sentence = _("%s answers, and all migrations are applied.")
        return Finding(_("database"), True, sentence % asked.display_name)
    cure = ngettext(
        "%d migration is not applied. Run: python manage.py migrate",
        "%d migrations are not applied. Run: python manage.py migrate",
        missing,
    )
    return Finding(_("database"), False, cure % missing)


def _unanswered(error: Exception) -> str:
    detail = " ".join(str(error).split()) or type(error).__name__
    if connection.vendor == "sqlite":
        cure = _("Check that DATA_DIR is writable, or set DATABASE_URL.")
    else:
        cure = _("Check that the server is running, and the address, name and password in DATABASE_URL.")
    answer = _("%(kind)s does not answer (%(detail)s).")
    return f"{answer % {'kind': connection.display_name, 'detail': detail}} {cure}"
