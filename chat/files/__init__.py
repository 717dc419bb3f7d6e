"""What lies in a conversation's workspace, as a person sees it: looked at, brought in, taken out."""
