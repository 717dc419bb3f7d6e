"""The files of a conversation's workspace: browsing, preview, baseline, upload, download."""
