"""Proposals: merges with a state, checked on an overlay of the plugin, and the patch made of them."""
