"""`python -m howcome.app.reader`: a process that reads transcripts ahead of an import (see `ingest.ahead`)."""

from __future__ import annotations

import gc
import os

from howcome.app import open_app
from howcome.app.clock import now_ms
from howcome.errors import HowcomeError
from howcome.ingest.ahead import SendingIngester, serve
from howcome.ingest.exclusion import Places
from howcome.settings import read_settings


def main() -> None:
    """Reads what it is told to, until nobody is there."""
    gc.disable()  # as in `howcome import`
    try:
        app = open_app(read_settings(os.environ), create=False)
    except HowcomeError:  # who started this one reads alone
        return
    with app:
        ingester = SendingIngester(app.store, Places(app.settings.exclude), now_ms=now_ms)
        ingester.ask_second_opinion(app.settings)
        serve(ingester)


if __name__ == "__main__":
    main()
