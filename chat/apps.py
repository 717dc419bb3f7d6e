from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = "Agentsite"

    def ready(self) -> None:
        """Count failures of the database from the first connection on."""
        from chat.measures import count_database_errors

        count_database_errors()
