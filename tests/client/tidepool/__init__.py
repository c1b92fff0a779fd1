"""The invented project `tidepool` and the three sessions that are recorded in it as samples."""

from tests.client.tidepool.dialogue import Session
from tests.client.tidepool.migration import MIGRATION
from tests.client.tidepool.project import build, commit
from tests.client.tidepool.resends import RESENDS
from tests.client.tidepool.rollup import HOURLY

SESSIONS: tuple[Session, ...] = (RESENDS, MIGRATION, HOURLY)

__all__ = ["HOURLY", "MIGRATION", "RESENDS", "SESSIONS", "Session", "build", "commit"]
