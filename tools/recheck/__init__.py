"""After any edits: what still differs from target and why, and what became of earlier findings."""
