"""Runs commands that a model wrote, in bubblewrap with an allow-listed root file system, or not at all."""

from chat.agent.sandbox.bubblewrap import SandboxError
from chat.agent.sandbox.limits import SandboxLimits
from chat.agent.sandbox.process import Output
from chat.agent.sandbox.runner import (
    UNBOUNDED,
    CommandOutcome,
    CommandSlot,
    CommandSlots,
    Ended,
    Sandbox,
    probe,
)

__all__ = [
    "UNBOUNDED",
    "CommandOutcome",
    "CommandSlot",
    "CommandSlots",
    "Ended",
    "Output",
    "Sandbox",
    "SandboxError",
    "SandboxLimits",
    "probe",
]
