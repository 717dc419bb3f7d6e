"""The site's settings, with a channel layer that muddles what goes over it, by the seed that LOSSY names."""

import os

from agentsite.settings import *  # noqa: F403
from tests.faults import lossy_layer

lossy_layer.install(os.environ["LOSSY"])
