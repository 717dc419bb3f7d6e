"""What a person sets up: connections with models, and what hangs on them."""
