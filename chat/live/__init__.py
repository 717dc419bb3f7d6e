"""Live pages: sockets, frames, regions, and what they show."""
