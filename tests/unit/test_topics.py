"""Topics are named by what was said, not by the words in which a source puts it."""

from __future__ import annotations

from howcome.learn.topics import topics

SAID = ("tide table of Bremen", "tide table in winter", "tide table, as printed")
FORMS = ("AGENTS.md says: the {}.", "Asked “Which one, and why?”, the user chose “the {}”.", "{} it is.")


def test_a_topic_has_no_words_of_a_form() -> None:
    """Before a colon or around what is quoted stand words that are the same in each memory of a source."""
    for form in FORMS:
        names = [name for name, _ in topics([form.format(said) for said in SAID])]
        assert names[0] == "tide table", form
