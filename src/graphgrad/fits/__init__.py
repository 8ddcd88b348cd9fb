"""Fits as plain records: what goes into one, and what came out."""
