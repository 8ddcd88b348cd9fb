"""`python -m graphgrad` is the command `graphgrad`."""

from .cli import main

if __name__ == "__main__":  # not in processes that it starts
    main()
