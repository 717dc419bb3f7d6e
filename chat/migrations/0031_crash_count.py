"""The column that counts the crashes of a turn's workers is named after them."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("chat", "0030_parents")]

    operations = [migrations.RenameField("turn", "deaths", "crash_count")]
