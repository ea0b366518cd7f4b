"""② The recordings of several machines as one run."""
