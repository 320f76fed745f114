"""Three-way merges of copied code, symbol by symbol. Nothing is written; what comes of it is text."""
