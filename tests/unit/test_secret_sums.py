"""Formats with a checksum: a right one is proof wherever it stands, a wrong one is none of anything."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.hostile.forms import FORMS, Form, Sample, is_leaked
from tests.hostile.scale import examples

from howcome.redact.redactor import Redactor
from howcome.redact.sums import FORMATS, Format

REDACTOR = Redactor(b"a key for tests")
ALPHANUMERIC = string.ascii_letters + string.digits

# As the vendors, or who wrote rules for their tokens, published them; spelled in pieces.
PUBLISHED = {
    "github": ("gh" + "p_sbUsUmRNn8X74dFU0DJ9Fm1mvdCgtH474T38", "gh" + "o_vr0nUtGPA6FMaUb56n4uJwJAoWuVfV4OdycX",
               "gh" + "u_TIOHHEVefAwRonSMALCFfWMYK0un1R1dj2rn"),
    "github-refresh": ("gh" + "r_xgrrGzSbbGRL34Wp39JU9nxtN27Pr1v1He8FjE7x7wbExGGs7nfJszJDAmZuoKasxZ0KxJ1HSzgc",),
    "github-fine-grained": ("github" + "_pat_11AAYCBDQ0tjwxY3uiVv5v_"
                            + "lo8vfONwp06Vaq9ORB7pSxWM1UT5wSEuqxoxNv15mbAJTNMO62SdeYHLyzV",),
    "npm": ("np" + "m_qkJaB6MffYVzZXWqmcoF49yrUxP3wf0LsakP",),
    "vercel": ("vc" + "p_35UYJwYZDigYATKhxJUAhPqRhit2Xe3dtiG60LsUTHeklEXDQ94Jafpu",
               "vc" + "k_2YkmQj1uHqCVNoUx5a9uvRTe81gmAcln5hoRMPWFBU4tulufUf0OzP2K"),
    "cloudflare": ("cf" + "ut_aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStT03fa099b",),
    "confluent": ("cf" + "ltT8d8RzkNseTMEDKcjNM1BZTFPHqRn/dQm9q7w6SjzZ12wZfwjaJdipHZtDjw",),
    "grafana": ("gl" + "sa_yscW25imSKJIuav8zF37RZmnbiDvB05G_fcaaf58a",),
    "zuplo": ("zp" + "ka_3e6c4f7d39954ca29353b7ab88589b64_de26cd55",),
    "gitlab": ("gl" + "pat-vSY1cyL948aAB440qB6L4zlu9OzsUmEV.01.0w0sfevch",),
}  # fmt: skip
BY_NAME = {form.name: form for form in FORMATS}
EACH = [pytest.param(name, token, id=f"{name}-{n}") for name, some in PUBLISHED.items() for n, token in enumerate(some)]

AROUND = (("", ""), ("x", ""), ("", "x"), ("a9", "Zz"), ("QUJD", "QUJD"), ("0f", "0f"),
          ("EXAMPLE", "EXAMPLE"), ("your_", "_here"),
          ("https://h.example/?a=b", "&c=d"), ("\\u201c", "\\u201d"),
          ("[32m", "[0m"))  # fmt: skip

LEAKY = {("hex of the whole", form.name) for form in FORMATS} | {
    (form.name, "confluent")  # its head is letters alone, which begins no token that is put together
    for form in FORMS
    if any(word in form.name for word in ("line break", "lines of 32", "strings")) and "backslash" not in form.name
}
"""Forms in which a checksum helps nobody, because nothing is looked at there."""


def wrong(token: str) -> str:
    """A token with another last character of its checksum."""
    at = -9 if "_pat_" in token else -1
    return token[:at] + ("b" if token[at] == "a" else "a") + token[at:][1:]


def test_every_format_was_tried_on_a_published_token() -> None:
    """No checksum is taken from a description alone."""
    assert set(PUBLISHED) == set(BY_NAME)


@pytest.mark.parametrize(("name", "token"), EACH)
def test_a_published_token_has_the_checksum_that_we_compute(name: str, token: str) -> None:
    """The vendor's way of writing it, and no other string has it."""
    assert BY_NAME[name].is_right(token)
    assert not BY_NAME[name].is_right(wrong(token))
    middle = 20
    other = "A" if token[middle] != "A" else "B"
    assert not BY_NAME[name].is_right(token[:middle] + other + token[middle + 1 :])


@pytest.mark.parametrize(("before", "after"), AROUND)
@pytest.mark.parametrize(("name", "token"), EACH)
def test_a_right_checksum_is_proof_whatever_stands_around(name: str, token: str, before: str, after: str) -> None:
    """Glued to letters, between words that mark examples, in an address, behind an escape that is not decoded."""
    redacted = REDACTOR.redact(f"say {before}{token}{after} now")
    assert token not in redacted, name
    assert "[redacted:" in redacted
    assert redacted.startswith(f"say {before}")


@pytest.mark.parametrize(("name", "token"), EACH)
def test_a_wrong_checksum_keeps_nothing_in_clear(name: str, token: str) -> None:
    """It may be a slip of the hand: the rules of the format decide, as they did. Glued to a letter it is no token."""
    assert wrong(token) not in REDACTOR.redact(f"say {wrong(token)} now"), name
    glued = f"say x{wrong(token)} now"
    assert "checked-" not in REDACTOR.redact(glued)


@pytest.mark.parametrize("joint", ["\n", "=\n", "\n    ", '" + "'])
@pytest.mark.parametrize(("name", "token"), [each for each in EACH if not each.id.startswith("confluent")])  # type: ignore[union-attr]
def test_a_token_that_is_cut_is_looked_at_with_what_it_is_glued_to(name: str, token: str, joint: str) -> None:
    """A right checksum is proof there as well; a wrong one leaves what no boundary stands before."""
    cut = f"say x{token[:20]}{joint}{token[20:]} now"
    assert "[redacted:" in REDACTOR.redact(cut), name
    assert "-token:" not in REDACTOR.redact(cut.replace(token[20:], wrong(token)[20:]))


def test_a_dummy_stays_readable() -> None:
    """Without a right checksum the filters for what stands in are as they were."""
    for dummy in ("np" + "m_" + "x" * 36, "NPM_TOKEN=<np" + "m_your_token_here>", "vc" + "p_" + "x" * 56):
        assert REDACTOR.redact(f"set {dummy} first") == f"set {dummy} first"


def tokens(form: Format) -> st.SearchStrategy[str]:
    """Tokens of a format with a right checksum."""
    return st.builds(
        form.token, st.sampled_from(form.prefixes), st.from_regex(re.compile(form.body, re.ASCII), fullmatch=True),
        st.text(ALPHANUMERIC, min_size=form.rest, max_size=form.rest),
    )  # fmt: skip


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(FORMS), st.sampled_from(FORMATS), *[st.text(ALPHANUMERIC, max_size=3)] * 2)
def test_a_right_checksum_is_found_in_every_form(
    data: st.DataObject, form: Form, kind: Format, before: str, after: str
) -> None:
    """Whatever the token, between whatever letters, in any form in which texts are looked at."""
    token = data.draw(tokens(kind))
    one = Sample(kind.name, f"say {before}{token}{after} now", token)
    is_read = (form.name, kind.name) not in LEAKY
    assert not is_read or not is_leaked(one, form.read(REDACTOR.redact(form.write(one))))
