"""What reads transcripts, put together as the settings say."""

from __future__ import annotations

from collections.abc import Callable

from howcome.ingest.exclusion import Places
from howcome.ingest.identity import Identities
from howcome.ingest.pipeline import Ingester
from howcome.settings import Settings
from howcome.store.base import Store


def open_ingester(
    store: Store,
    settings: Settings,
    fixed_root: str | None,
    now_ms: Callable[[], int],
    on_rows: Callable[[dict[int, str]], None],
) -> Ingester:
    """Reads transcripts into a store; folders that it has not seen are looked at (see `Ingester`)."""
    places = Places(settings.exclude, fixed_root)
    meet = None if fixed_root is not None else Identities(store, now_ms).meet
    return Ingester(store, places, now_ms=now_ms, on_rows=on_rows, meet=meet)
