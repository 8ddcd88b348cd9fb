"""Records of a fit: its inputs, `Task`, and its results, `Fit`."""
