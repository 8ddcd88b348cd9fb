"""The numerical study: the tables and figures of the paper, run again."""
