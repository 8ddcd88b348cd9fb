"""Whether to trust a fit: residuals, uncertainty, comparison of fits."""
