"""The command line, as the script `conseq`."""

from __future__ import annotations

import os
import signal
import sys

from . import _native


def main() -> int:
    """Runs the command line with the arguments of this process."""
    # The program ends at once on Ctrl-C, or in order where it trains; Python's own handler would wait.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.command_line(["conseq", *(os.fspath(word) for word in sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
