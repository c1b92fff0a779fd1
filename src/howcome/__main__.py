"""The command `howcome`, and `python -m howcome`.

Hooks and the MCP server are told apart before anything expensive is imported.
"""

from __future__ import annotations

import os
import sys
from gc import set_threshold


def main() -> int:
    """Runs the command line; `howcome hook EVENT` and `howcome mcp` go to their own entries.

    Both end the process at once: what is to be written is written, taking Python down costs a prompt 2 ms, and the
    server's threads may be in the middle of C code. So does a command that only reads, where it takes 5 to 10 ms.
    """
    set_threshold(50_000)  # as in `launch`
    if len(sys.argv) > 1 and sys.argv[1] in ("hook", "mcp") and not {"--help", "-h"} & set(sys.argv):
        if sys.argv[1] == "mcp":
            from howcome.mcp.server import main as serve

            os._exit(serve(sys.argv[2:]))
        from howcome.hooks.process import main as hook_main

        os._exit(hook_main(sys.argv[2:]))
    from _signal import SIG_DFL, SIGPIPE, signal  # type: ignore[import-not-found]  # `signal` makes an enumeration of each

    from howcome.cli.main import main as cli_main
    from howcome.present.terminal import hush_libraries

    hush_libraries()
    signal(SIGPIPE, SIG_DFL)  # `howcome timeline … | head` ends as any other command does
    code = cli_main()
    if "click" not in sys.modules:  # it only read: each line is written, no thread and no library has work left
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
