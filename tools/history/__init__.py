"""What happened upstream between base and target: every commit, what it changed, and what that means for the plugin."""
