"""Input data: files, frames and arrays as series; times, names and scales."""
