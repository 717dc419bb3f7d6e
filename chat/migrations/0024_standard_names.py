"""Standard names for columns and for the search index state. The triggers on entries are made anew, because
SQLite may copy the table to rename its column."""

import django.db.models.deletion
from django.db import migrations, models

SQLITE_TRIGGER = """CREATE TRIGGER chat_searchentry_gone AFTER DELETE ON chat_searchentry BEGIN
    DELETE FROM chat_searchindex WHERE rowid = (old.{column} << 32) | old.id; END"""


def drop_trigger(_apps, editor):
    if editor.connection.vendor == "sqlite":
        editor.execute("DROP TRIGGER chat_searchentry_gone")


def create_trigger(column):
    def create(_apps, editor):
        if editor.connection.vendor == "sqlite":
            editor.execute(SQLITE_TRIGGER.format(column=column))

    return create


def rename_word_column(before, after):
    def rename(_apps, editor):
        if editor.connection.vendor == "postgresql":
            editor.execute(f"ALTER TABLE chat_searchindex RENAME COLUMN {before} TO {after}")

    return rename


class Migration(migrations.Migration):
    dependencies = [("chat", "0023_unindexed_turns")]

    operations = [
        migrations.RenameField("turn", "sentence", "status_message"),
        migrations.RenameField("turn", "blind", "vision_unsupported"),
        migrations.RenameField("turn", "profile_then", "profile_snapshot"),
        migrations.RenameField("step", "told", "edit_note"),
        migrations.RenameField("todorevision", "told_in", "delivered_in_step"),
        migrations.AlterField(
            "todorevision",
            "delivered_in_step",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="delivered_revisions",
                to="chat.step",
            ),
        ),
        migrations.RenameField("toolcall", "wire_id", "call_id"),
        migrations.RunPython(drop_trigger, create_trigger("shelf_id")),
        migrations.RenameModel("SearchShelf", "SearchIndexState"),
        migrations.AlterModelOptions(
            "searchindexstate",
            {"verbose_name": "search index state", "verbose_name_plural": "search index states"},
        ),
        migrations.AlterField(
            "searchindexstate",
            "conversation",
            models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="search_index_state",
                to="chat.conversation",
            ),
        ),
        migrations.RenameField("searchindexstate", "edition", "version"),
        migrations.RenameField("searchentry", "shelf", "index_state"),
        migrations.RunPython(create_trigger("index_state_id"), drop_trigger),
        migrations.RunPython(
            rename_word_column("shelf", "index_state"), rename_word_column("index_state", "shelf")
        ),
    ]
