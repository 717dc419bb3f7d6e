"""A plugin for pytest: loaded before the settings, it puts the tests on the database that it is told of."""

import os

os.environ["DATABASE_URL"] = os.environ["TESTS_DATABASE_URL"]
