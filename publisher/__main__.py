"""``python -m publisher``: hands over to the command line."""

import sys

# Reading commands promise to leave every byte of a checkout as it was, bytecode caches included.
sys.dont_write_bytecode = True

from publisher.cli.main import main  # noqa: E402 - the line above must run first

if __name__ == "__main__":
    main()
