"""The site's settings, and a process that kills itself at the point that CRASH_AT names: see crash_points."""

from agentsite.settings import *  # noqa: F403
from tests.faults import crash_points

crash_points.install()
