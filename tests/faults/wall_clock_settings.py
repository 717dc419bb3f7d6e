"""The site's settings, and a process whose wall clock is set by a file: see wall_clock."""

from tests.faults import wall_clock

wall_clock.install()

from agentsite.settings import *  # noqa: E402, F403 (nothing may take hold of the true clock before)
