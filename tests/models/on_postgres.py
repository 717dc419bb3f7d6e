"""A pytest plugin, loaded before the settings, that runs the tests on a given database."""

import os

os.environ["DATABASE_URL"] = os.environ["TESTS_DATABASE_URL"]
