"""The numerical study: reproduces the tables and figures of the paper."""
