"""The command `recollect`, and `python -m recollect`. Hooks are told apart before anything expensive is imported."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command line; `recollect hook EVENT` goes to the hook's own entry, which always ends with 0."""
    if len(sys.argv) > 1 and sys.argv[1] == "hook" and not {"--help", "-h"} & set(sys.argv):
        from recollect.present.hooks import main as hook_main

        os._exit(hook_main(sys.argv[2:]))  # nothing is left to be written; taking Python down costs a prompt 2 ms
    from recollect.present.cli import main as cli_main

    return cli_main()


if __name__ == "__main__":
    sys.exit(main())
