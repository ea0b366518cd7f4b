"""① Everything that needs Linux: exec, signals, the stream's terminal, and reading /proc."""
