"""penalties."""
