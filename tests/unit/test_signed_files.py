"""Files of memories that somebody else wrote: whose key signed one is read from the key itself."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from howcome.domain.memories import MAX_AGENT_CHARS
from howcome.errors import UsageError
from howcome.memory.signed_files import FIRST_LINE, SharedMemory, read, with_new, written

ANN, EVE = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()


def public(key: Ed25519PrivateKey) -> str:
    """The public key in OpenSSH's form."""
    return key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode()


def owner_of(key: Ed25519PrivateKey) -> str:
    """The owner of what somebody signs as usual."""
    one = SharedMemory("ab" * 16, "decision", "open", 1_790_000_000_000, "user", "Ann <ann@example.org>", None, "moor")
    return read(written(one, key)).owner({})


def signed_by_eve(key_line: str) -> bytes:
    """A file in Ann's name that Eve signed, with another line for the key."""
    head = f"{FIRST_LINE}\nid: {'ab' * 16}\ntype: decision\nstatus: open\ncreated: 2026-01-01T00:00:00.000+00:00\n"
    head += f"origin: user\nauthor: Ann <ann@example.org>\nkey: {key_line}\n"
    signature = base64.b64encode(EVE.sign(f"{head}\nmoor\n".encode())).decode()
    return f"{head}signature: {signature}\n\nmoor\n".encode()


@pytest.mark.parametrize("line", ["{kind} {eve}", "{kind}\t{eve}", "{kind}  {eve}", "{kind}\t{eve} {ann}"])
def test_the_shown_key_is_the_one_that_signed(line: str) -> None:
    """However the line is spaced, and whatever else stands in it."""
    (kind, eve), ann = public(EVE).split(), public(ANN).split()[1]
    assert owner_of(EVE) != owner_of(ANN)
    assert read(signed_by_eve(line.format(kind=kind, eve=eve, ann=ann))).owner({}) == owner_of(EVE)


def test_the_longest_names_fit_into_an_owner() -> None:
    """Whatever is said of their keys."""
    for name, key in (("Ann " * 22, ANN), ("Eve " * 22, ANN), ("Ann " * 22, EVE)):
        signers = with_new({}, [signed("Ann " * 22, ANN)])
        assert len(signed(name, key).owner(signers)) <= MAX_AGENT_CHARS


def signed(name: str, key: Ed25519PrivateKey, created_ms: int = 1_790_000_000_000) -> SharedMemory:
    """What somebody signed in a name."""
    one = SharedMemory("ab" * 16, "decision", "open", created_ms, "user", f"{name}x", None, "moor")
    return read(written(one, key))


def test_a_date_makes_no_key_the_known_one() -> None:
    """Its signer writes it: of two new keys for a name none is known, and a new one never before a known one."""
    both = [signed("Ann", EVE, 1_000_000_000_000), signed("Ann", ANN)]
    signers = with_new({}, both)
    assert [one.owner(signers).endswith(", not the known key") for one in both] == [True, True]
    signers = with_new(with_new({}, both[1:]), both)
    assert [one.owner(signers).endswith(", not the known key") for one in both] == [True, False]


@pytest.mark.parametrize("line", ["", "ssh-foo AAAA", "ssh-ed25519", "ssh-ed25519 ####", "ssh-ed25519\t"])
def test_what_is_no_key_is_said(line: str) -> None:
    """One error, whatever the library makes of it."""
    with pytest.raises(UsageError, match="its signature is wrong"):
        read(signed_by_eve(line))
