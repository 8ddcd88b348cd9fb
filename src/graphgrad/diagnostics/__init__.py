"""Diagnostics of a fit: residuals, uncertainty, confidence, comparison."""
