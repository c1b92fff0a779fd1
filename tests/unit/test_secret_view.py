"""The normal view: noise is masked, and every place is one of the original."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile.scale import examples

from howcome.redact.redactor import Redactor
from howcome.redact.search import bytes_of
from howcome.redact.view import normal_view, seen_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mtoken\x1b[0m", "token"),
        ("\x1b]8;;https://example.com\x07link\x1b]8;;\x07", "link"),
        (r"\u001b[31mtoken\x1b[0m", "token"),
        ("a%3Db%26c", "a=b&c"),
        ("a%253Db", "a=b"),
        ("a=%27b+c%27", "a='b c'"),
        ("&quot;a&quot; &#61; &#x3d; &amp;lt;", '"a" = = <'),
        (r"{\"a\": \"b\\n\"}", '{"a": "b\n"}'),
        (r"{\\\"a\\\": 1}", '{"a": 1}'),
        (r"a\_b \$c", "a_b $c"),
        ("one \\\n    two", "one two"),
        ("\u201ca\u201d \u2018b\u2019 \u00abc\u00bb", '"a" \'b\' "c"'),
        ("to\u200bken \ufeffx", "token x"),
        ("plain text, 100 % of it & more", "plain text, 100 % of it & more"),
        (r"C:\dev\app", r"C:\dev\app"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    """Colour, escapes, percent signs, entities, breaks, quotes and unseen characters."""
    assert normal_view(text).text == shown


_NOISY = st.lists(
    st.one_of(
        st.text('abc=:\n" é→', max_size=5),
        st.sampled_from(["\x1b[31m", "%41", "%2541", "&quot;", "&amp;gt;", "\\n", '\\\\\\"', "\\\n  ", "\u200b"]),
    ),
    max_size=12,
).map("".join)


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(
        st.one_of(
            _NOISY,
            st.text(),
            st.sampled_from(
                [
                    "\u200b",
                    "\u2003+%20",
                    "\\u00a0",
                    "\\u00f1",
                    "&#8203;",
                    "&#x627;",
                    "\r\n",
                    "=\n",
                    "^[[1m",
                    "\x01",
                    "\\",
                    "n",
                ]
            ),
            st.sampled_from(
                ["contrase\u00f1a", "\u043f\u0430\u0440\u043e\u043b\u044c", "\u201c", "\U0001f600", "\ud800"]
            ),
        )
    ).map("".join)
)
def test_what_rules_see_is_the_view(text: str) -> None:
    """Also by the way that is fast and knows no places."""
    assert seen_of(text)[0] == bytes_of(normal_view(text).text)


@settings(max_examples=examples(400), deadline=None)
@given(_NOISY, _NOISY, _NOISY)
def test_places_are_those_of_the_original(before: str, inside: str, after: str) -> None:
    """A word stands in the original where the view says, with the noise inside it."""
    text = f"{before} wo{inside}rd {after}"
    view = normal_view(text)
    spans = [view.span(place, place + 1) for place in range(len(view.text))]
    assert all(first[0] <= second[0] and first[1] <= second[0] + 1 for first, second in itertools.pairwise(spans))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    for place, (_, end) in enumerate(spans):
        if view.text[place] in "abcdefghijklmnopqrstuvwxyz=:":
            assert text[end - 1] == view.text[place] or text[end - 1] in "0123456789ABCDEFabcdef;"


TOKEN = "ghp_" + "b7Qx2Lm9Zt4Kc8Rv1Wp6Hd3Ys5Nj0GfTaEuB"


@pytest.mark.parametrize(
    "text",
    [
        f"{TOKEN[:20]}\n{TOKEN[20:]}",
        f"x {TOKEN[:12]}\n     2\u2192{TOKEN[12:]}",
        f"{TOKEN[:10]}\n    {TOKEN[10:24]}\n    {TOKEN[24:]}",
        f'token = "{TOKEN[:16]}" + "{TOKEN[16:]}"',
        f'("{TOKEN[:16]}"\n    "{TOKEN[16:]}")',
        f"{TOKEN[:16]}\\\n{TOKEN[16:]}",
    ],
)
def test_a_token_that_is_cut_goes_whole(text: str) -> None:
    """By a line break, with a number or indented, by a program that joins strings, by a shell's continuation."""
    redacted = Redactor(b"k").redact(f"it was {text} then")
    assert all(part not in redacted for part in (TOKEN[:10], TOKEN[-10:]))
    assert redacted.startswith("it was ")
    assert redacted.endswith(" then")


def test_a_whole_token_at_a_lines_end_takes_no_word_of_the_next() -> None:
    """What follows a token of its full length belongs to the text."""
    assert Redactor(b"k").redact(f"{TOKEN}\nexport it").endswith("\nexport it")
