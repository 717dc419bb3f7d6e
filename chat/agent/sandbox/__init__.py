"""Running commands that a model wrote: bubblewrap with an allow-list root, or not at all."""

from chat.agent.sandbox.diagnosis import SandboxError
from chat.agent.sandbox.limits import SandboxLimits
from chat.agent.sandbox.output import Output
from chat.agent.sandbox.places import UNBOUNDED, CommandPlaces, Place
from chat.agent.sandbox.probe import probe
from chat.agent.sandbox.runner import Ended, Outcome, Sandbox

__all__ = [
    "UNBOUNDED",
    "CommandPlaces",
    "Ended",
    "Outcome",
    "Output",
    "Place",
    "Sandbox",
    "SandboxError",
    "SandboxLimits",
    "probe",
]
