"""What a person sees: plain views over the rows."""
