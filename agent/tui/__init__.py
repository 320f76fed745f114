"""The terminal app: what a person sees and decides. It computes nothing about plugins itself."""
