"""The script that an agent's settings run for each hook: `python -I -S -E launch.py EVENT`.

Started without `site`, so that a prompt pays for no `.pth` file and no `sitecustomize`; hence it has to find the
packages itself: beside recollect, or in the virtual environment of the interpreter that runs it.
"""

import os
import sys

_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
_ENVIRONMENT = os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "lib", _VERSION, "site-packages")


def run() -> int:
    """Runs the hook named by the arguments; 0 whatever happens."""
    sys.path[:0] = [_PACKAGES] if _PACKAGES == _ENVIRONMENT else [_PACKAGES, _ENVIRONMENT]
    try:
        import apsw  # noqa: F401
    except ImportError:  # neither place has the dependencies: pay for `site`, which knows the others
        import site

        site.main()
    from recollect.present.hooks import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    try:
        run()
    finally:
        os._exit(0)
