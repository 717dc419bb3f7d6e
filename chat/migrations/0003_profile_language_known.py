from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0002_first_profiles")]
    operations = [
        migrations.AddConstraint(
            model_name="profile",
            constraint=models.CheckConstraint(
                condition=models.Q(("language__in", ["en", "zh"])), name="profile_language_known"
            ),
        ),
    ]
