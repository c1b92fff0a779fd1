"""What is shown of a remote."""

from __future__ import annotations

import pytest

from howcome.memory.remotes import shown


@pytest.mark.parametrize("who", ["me", "me:pass", "me:p@ss", "me:p@s@s"])
def test_no_part_of_a_password_is_shown(who: str) -> None:
    """Nor where git's own words name it."""
    assert shown(f"https://{who}@example.org/x.git") == "https://example.org/x.git"
    said = f"could not read 'https://{who}@example.org/x.git', ask git@example.org or https://{who}@other.org"
    assert shown(said) == "could not read 'https://example.org/x.git', ask git@example.org or https://other.org"
