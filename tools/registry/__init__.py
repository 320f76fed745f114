"""What the plugin registers, when that happens, and what is lost when a step of the start fails."""
