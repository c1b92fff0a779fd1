"""Commands as the parser reads them."""

from __future__ import annotations

import pytest

from howcome.learn.shell import commands


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("git commit -m 'a b'", ("git", "commit", "-m", "a b")),
        ('git commit -m "Read tides\n\nThey were off."', ("git", "commit", "-m", "Read tides\n\nThey were off.")),
        ('echo "now: $(date), \\"$HOME\\" and \\`x\\`"', ("echo", 'now: $(…), "$HOME" and `x`')),
        ("git commit -m $'Read\\n\\nIt\\'s off'", ("git", "commit", "-m", "Read\n\nIt's off")),
        ('""', ()),
        ('printf "%s"', ("printf", "%s")),
    ],
)
def test_words_are_what_the_program_is_given(line: str, words: tuple[str, ...]) -> None:
    """Quotes are taken off, line breaks in them stay."""
    assert [one.words for one in commands(line)] == ([words] if words else [])


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("git -C ../harbour commit -m x", "git commit"),
        ("git -c user.name=x -C y push origin", "git push origin"),
        ("/usr/bin/git commit", "git commit"),
        ("npm run lint -- --fix", "npm run lint"),
    ],
)
def test_a_name_is_the_program_and_what_it_is_to_do(line: str, name: str) -> None:
    """Options before the subcommand are passed over."""
    assert commands(line)[0].name == name
