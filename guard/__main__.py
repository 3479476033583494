"""`python -m guard`: the command line, for where the `guard` script is not on the path. Does nothing else."""

import sys

from guard.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
