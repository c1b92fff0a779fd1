"""A memory as a file of a repository: lines that people read and git merges, signed by who wrote them (Ed25519).

The signature says that nobody changed a file since; whose the key is, a person knows who reviews it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from howcome.domain import events, memories
from howcome.domain.memories import memory_id
from howcome.errors import UsageError
from howcome.files import write_whole
from howcome.memory.sealing import require_package
from howcome.memory.text import known_word, owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FIRST_LINE = "howcome memory 1"
MAX_FILE_BYTES = 64 << 10
AUTHOR_KEY, MAX_NAME_CHARS = "author-key", 40
"""Two such names and a key fit into the name of an owner (`domain.memories.MAX_AGENT_CHARS`)."""

WRONG = (
    "its signature is wrong: it was changed by hand, or is not whole. `git checkout HEAD -- FILE` brings back what was"
    " signed; `howcome update` and `howcome share` change a text"
)
CONFLICT = "git could not merge it: `howcome share --resolve` takes the later side"
_KEY = re.compile(rf"[0-9a-f]{{{2 * memories.KEY_BYTES}}}")
_BASE = re.compile(rb"^\|{7}.*?(?=^={7}\r?$)", re.MULTILINE | re.DOTALL)
_SIDES = re.compile(rb"^<{7}[^\n]*\n(.*?)^={7}\r?\n(.*?)^>{7}[^\n]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """What such a file says; `signer` is the public key in OpenSSH's form, as we write it."""

    key: str
    type: str
    status: str
    created_ms: int
    origin: str
    author: str
    supersedes: str | None
    text: str
    signer: str = ""

    def owner(self, signers: Mapping[str, str]) -> str:
        """The author, with what tells the key from others, and what does not fit to keys that are known.

        `signers` are these, each with the name that it first signed in (see `with_new`).
        """
        key, name = fingerprint(self.signer), self.author
        if (first := signers.get(key, name)) != name:
            return f"{first[:MAX_NAME_CHARS]}, key {key}, as {name[:MAX_NAME_CHARS]}"
        is_known = key == next((one for one, known in signers.items() if known == name), "")
        return f"{name}, key {key}" if is_known else f"{name[: 2 * MAX_NAME_CHARS]}, key {key}, not the known key"


def with_new(signers: Mapping[str, str], found: Iterable[SharedMemory]) -> dict[str, str]:
    """Keys that are known and new ones, each with its name; of new ones that sign in one name none is known.

    A file's date is its signer's word, so it does not say which of them was first.
    """
    new: dict[str, str] = {}
    for one in found:
        if (key := fingerprint(one.signer)) not in signers:
            new.setdefault(key, one.author)
    often = Counter(new.values())
    return {**signers, **{key: name for key, name in new.items() if often[name] == 1}}


def fingerprint(signer: str) -> str:
    """What tells a public key (in OpenSSH's form) from others, in a few digits."""
    return hashlib.sha256(base64.b64decode(signer.split(" ")[1])).hexdigest()[:12]


def own_fingerprint(home: str) -> str:
    """The same of the key with which this machine signs; "" where it has none yet."""
    require_package()
    from cryptography.hazmat.primitives import serialization as form

    if not os.path.exists(os.path.join(home, AUTHOR_KEY)):
        return ""
    public = author_key(home).public_key()
    return fingerprint(public.public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode())


def author_key(home: str) -> Ed25519PrivateKey:
    """The key with which this machine signs, made where there is none."""
    require_package()
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path = os.path.join(home, AUTHOR_KEY)
    if not os.path.exists(path):
        made = Ed25519PrivateKey.generate()
        kind = (form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
        write_whole(path, made.private_bytes(*kind), must_last=True)
        return made
    with open(path, "rb") as stream:
        try:
            found = form.load_ssh_private_key(stream.read(), None)
        except ValueError as error:
            raise UsageError(f"{path}: no key that can be read ({error})") from error
    if not isinstance(found, Ed25519PrivateKey):
        raise UsageError(f"{path}: not an ssh-ed25519 key")
    return found


def written(one: SharedMemory, key: Ed25519PrivateKey) -> bytes:
    """The file of a memory, signed."""
    from cryptography.hazmat.primitives import serialization as form

    created = datetime.fromtimestamp(one.created_ms / 1000, UTC).isoformat(timespec="milliseconds")
    fields = {"id": one.key, "type": one.type, "status": one.status, "created": created, "origin": one.origin}
    fields |= {"author": one.author} | ({"supersedes": one.supersedes} if one.supersedes else {})
    fields["key"] = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode()
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    body = f"\n{one.text}\n"
    signature = base64.b64encode(key.sign(f"{FIRST_LINE}\n{head}{body}".encode())).decode()
    return f"{FIRST_LINE}\n{head}signature: {signature}\n{body}".encode()


def read(data: bytes) -> SharedMemory:
    """What a file says, where its signature is right; UsageError says what is wrong."""
    require_package()
    if sides(data) != [data]:
        raise UsageError(CONFLICT)
    try:
        head, _, text = data.decode().replace("\r\n", "\n").partition("\n\n")
    except UnicodeDecodeError as error:
        raise UsageError("not UTF-8") from error
    first, *lines = head.split("\n")
    fields = dict(line.partition(": ")[::2] for line in lines)
    if first != FIRST_LINE:
        raise UsageError(f"its first line is not `{FIRST_LINE}`")
    signed = "\n".join([first, *(line for line in lines if not line.startswith("signature: "))])
    signer = _verified(fields, f"{signed}\n\n{text}".encode())
    supersedes, author = fields.get("supersedes"), owner(fields.get("author", ""))
    if not all(_KEY.fullmatch(key) for key in (fields.get("id", ""), supersedes) if key is not None):
        raise UsageError("its id is none")
    try:
        created_ms = round(datetime.fromisoformat(fields.get("created", "")).timestamp() * 1000)
    except ValueError as error:
        raise UsageError("its time is none") from error
    return SharedMemory(
        fields["id"], known_word("type", fields.get("type", ""), memories.TYPES),
        known_word("status", fields.get("status", ""), memories.STATUSES), created_ms,
        known_word("origin", fields.get("origin", ""), events.PUSHED_ORIGINS), author or "", supersedes,
        text.removesuffix("\n"), signer,
    )  # fmt: skip


def _verified(fields: dict[str, str], signed: bytes) -> str:
    """Whose signature it is: the key that was used, written anew, as its line may hold more than that."""
    require_package()
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        signer = form.load_ssh_public_key(fields.get("key", "").encode())
        signature = base64.b64decode(fields.get("signature", ""), validate=True)
        if not isinstance(signer, Ed25519PublicKey):
            raise UsageError("not signed with an ssh-ed25519 key")
        signer.verify(signature, signed)
    except (ValueError, InvalidSignature, UnsupportedAlgorithm) as error:
        raise UsageError(WRONG) from error
    return signer.public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode()


def sides(data: bytes) -> list[bytes]:
    """A file as it is; both files of one that git could not merge."""
    plain = _BASE.sub(b"", data)
    both = list(dict.fromkeys((_SIDES.sub(rb"\1", plain), _SIDES.sub(rb"\2", plain))))
    return both if len(both) > 1 else [data]


def file_name(key: str) -> str:
    """The file of a memory that no file is of."""
    return f"{memory_id(bytes.fromhex(key))}.md"
