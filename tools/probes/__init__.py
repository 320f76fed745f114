"""What really happens in a target interpreter: the plugin is loaded there as vLLM loads it, in a process of its own."""
