from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = _("Agent chat")

    def ready(self) -> None:
        """Count failures of the database from the first connection on."""
        from chat.measures import count_database_errors

        count_database_errors()
