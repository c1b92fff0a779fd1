"""A team's server, as it is asked: one request and its answer, and memories in pieces that one request may hold."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from howcome.domain.team_records import MAX_RECORDS, Record
from howcome.errors import ProviderError, SyncError
from howcome.providers.http_post import Endpoint, RefusedError

ASK_S, MAX_BATCH_CHARS = 10.0, 500_000
ENDED = 401


class TeamWire:
    """The server at an address, for the holder of a token."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self._token = url, token

    def ask(self, path: str, value: Mapping[str, object] | None = None, **asked: object) -> dict[str, Any]:
        """What it says to a value, or to a question without one; SyncError says what to do where it does not answer."""
        deadline = time.monotonic() + ASK_S
        try:
            endpoint = Endpoint(self.url + path, self._token, setting="team")
            found = json.loads(endpoint.ask(value, deadline, urlencode(asked)))
        except RefusedError as error:
            if error.status == ENDED:
                raise SyncError("the token has ended: ask for another, then `howcome team join` again") from error
            raise SyncError(str(error).partition("; check")[0]) from error
        except ProviderError as error:
            raise SyncError(str(error)) from error
        except (ValueError, RecursionError) as error:
            raise SyncError(f"{self.url} answers what is no JSON: check the address") from error
        if not isinstance(found, dict):
            raise self.stranger()
        return found

    def stranger(self) -> SyncError:
        """What is raised where the answer has not the form that was agreed on."""
        return SyncError(f"{self.url} answers what is no team server's: check the address")


def digest_of(record: Record) -> str:
    """What tells whether a record has changed since it was sent."""
    return hashlib.sha256(json.dumps(record.value).encode()).hexdigest()[:32]


def batches(records: list[Record]) -> list[list[Record]]:
    """Pieces that the server takes at once."""
    found: list[list[Record]] = []
    size = 0
    for record in records:
        if not found or size + len(record.text) > MAX_BATCH_CHARS or len(found[-1]) == MAX_RECORDS:
            found.append([])
            size = 0
        found[-1].append(record)
        size += len(record.text)
    return found
