"""The script that an agent's settings run: `python -I -S -E launch.py EVENT [--agent NAME]`, or `launch.py mcp`.

Started without `site`, so that a prompt pays for no `.pth` file and no `sitecustomize`; hence it has to find the
packages itself: beside howcome, or in the virtual environment of the interpreter that runs it.
"""

import os
import sys
from gc import set_threshold

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
_ENVIRONMENT = os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "lib", _VERSION, "site-packages")


def run() -> int:
    """Runs what the arguments name: 0 for a hook, whatever happens; the server's own exit code."""
    set_threshold(50_000)  # collecting what imports leave behind takes a prompt 4 of 50 ms
    folders = [_PACKAGES] if _PACKAGES == _ENVIRONMENT else [_PACKAGES, _ENVIRONMENT]
    sys.path += folders  # behind the standard library, of which a prompt loads more
    if not any(os.path.exists(os.path.join(folder, "apsw")) for folder in folders):
        import site  # neither place has the dependencies: pay for `site`, which knows the others

        site.main()
    if sys.argv[1:2] == ["mcp"]:
        from howcome.mcp.server import main as serve

        return serve(sys.argv[2:])
    from howcome.hooks.process import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    code = 0
    try:
        code = run()
    finally:
        os._exit(code)
