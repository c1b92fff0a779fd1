"""What is never advised."""

from __future__ import annotations

import pytest

from howcome.domain.advice import is_risky
from howcome.domain.commands import parts_of

FAILED = "./tide up quay"


@pytest.mark.parametrize(
    "fix",
    [
        "./tide up quay --force",
        "./tide up quay -f",
        "./tide up quay --force-with-lease=main",
        "./tide up quay --reset --yes",
        "./tide up quay -y",
        "./tide up quay -k",
        "./tide up quay -sSk",
        "./tide up quay --insecure",
        "./tide up quay -auto-approve",
        "./tide up quay --accept-data-loss",
        "./tide up quay -lock=false",
        "./tide up quay --hard",
        "./tide up quay --overwrite",
        "./tide up quay --break-system-packages",
        "./tide rm quay",
        "sudo ./tide up quay",
        "timeout 9 /usr/bin/ssh quay ./tide up",
        "DATABASE_URL=quay ./tide up quay",
        "env RAILS_ENV=production ./tide up quay",
        "export QUAY_PASSPHRASE=a && ./tide up quay",
        "AWS_ACCESS_KEY_ID=a ./tide up quay",
        "TF_CLI_ARGS=-destroy ./tide up quay",
        "./tide login mara abc",
        "export 'QUAY_URL=a b' && ./tide up quay",
        "HOOK='true; rm -rf build' ./tide up quay",
    ],
)
def test_a_command_that_forces_removes_or_acts_elsewhere_is_risky(fix: str) -> None:
    """Where the failed one did not, or where it only ran before."""
    was, now = parts_of(FAILED)[0], parts_of(fix)[0]
    assert is_risky(now, was)
    assert is_risky(now)
    assert is_risky(now, now) is ("login" in fix)
    assert is_risky(now, now, was)


@pytest.mark.parametrize(
    "fix",
    [
        "uv run ./tide up quay",
        "JAVA_HOME=/opt/17 ./tide up quay",
        "cd web && ./tide up quay",
        "source .venv/bin/activate && ./tide up quay",
        "./tide up --level 3 -v",
        "npm ci",
        "gh auth login",
        "uv sync --extra payments",
    ],
)
def test_another_is_not(fix: str) -> None:
    """A program in front, a place, a version."""
    was, now = parts_of(FAILED)[0], parts_of(fix)[0]
    assert not is_risky(now, was)
    assert not is_risky(now)
