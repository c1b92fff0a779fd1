"""A connection's cursor that stops before one of its statements: who reads "here" kills something then."""

from __future__ import annotations

import sys
from typing import Any

import psycopg


class Stopping(psycopg.ClientCursor[Any]):
    """Stops before the statement of a number; `left` is how many come until then, with it."""

    left = 0

    def _meet(self) -> None:
        Stopping.left -= 1
        if Stopping.left == 0:
            print("here", flush=True)
            sys.stdin.readline()

    def execute(self, *values: Any, **named: Any) -> Any:
        """As it is, or later."""
        self._meet()
        return super().execute(*values, **named)

    def executemany(self, *values: Any, **named: Any) -> Any:
        """As it is, or later."""
        self._meet()
        return super().executemany(*values, **named)

    def copy(self, *values: Any, **named: Any) -> Any:
        """As it is, or later."""
        self._meet()
        return super().copy(*values, **named)
