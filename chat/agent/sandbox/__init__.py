"""Running commands that a model wrote: bubblewrap with an allow-list root, or not at all."""

from chat.agent.sandbox.diagnosis import SandboxError
from chat.agent.sandbox.limits import SandboxLimits
from chat.agent.sandbox.probe import probe
from chat.agent.sandbox.runner import Ended, Outcome, Sandbox

__all__ = ["Ended", "Outcome", "Sandbox", "SandboxError", "SandboxLimits", "probe"]
