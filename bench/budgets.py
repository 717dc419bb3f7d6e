"""Cost targets of the live path (TARGETS), and the limits that tests enforce (LIMITS)."""

from __future__ import annotations

TARGETS = {
    "para 1: CPU s per 1,000 tokens": 0.80,
    "para 10: CPU s per 1,000 tokens": 0.30,
    "para 25: CPU s per 1,000 tokens": 0.25,
    "para 50: CPU s per 1,000 tokens": 0.22,
    "para 10: token to socket, ms p50": 60,
    "para 10: token to socket, ms p95": 120,
    "para 10: token to socket, ms p99": 300,
    "para 25: token to socket, ms p50": 100,
    "para 25: token to socket, ms p95": 200,
    "para 25: token to socket, ms p99": 400,
    "para 50: token to socket, ms p99": 500,
    "agent 1: CPU s per turn": 0.40,
    "agent 10: CPU s per turn": 0.30,
    "alone: send to accepted, ms": 10,
    "alone: send to first text, ms": 30,
    "para 10: send to first text, ms p50": 80,
    "para 25: send to first text, ms p50": 200,
    "para 1: bytes per token": 40,
    "text 1: bytes per token": 40,
    "text 1: statements per turn": 40,
    "text 1: connections per turn": 0,
    "agent 1: statements per turn": 150,
    "idle tabs 1: statements per s": 0.5,
    "idle tabs 50: statements per s": 0.5,
    "idle site: CPU, % of a core": 0.2,
    "fast: tokens per s": 20_000,
    "memory: RSS after the start, MB": 125,
    "memory: KB per idle tab": 50,
    "memory: KB kept per finished conversation": 20,
}

# Counts for turns as in `--short`. A busy machine makes turns longer, which raises the counts, so the limits
# are a quarter above the counts on an idle one.
LIMITS = {
    "text 1: statements per turn": 110,
    "text 1: connections per turn": 2,
    "text 1: bytes per token": 60,
    "agent 1: statements per turn": 280,
    "agent 1: connections per turn": 2,
    "agent 1: KB per turn": 465,
    "idle tabs 5: statements per s": 3,
    "idle tabs 5: connections per s": 0.5,
}
