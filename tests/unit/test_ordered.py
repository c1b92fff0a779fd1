"""What in a user's words holds for good, and what is of the day, of others or of elsewhere."""

from __future__ import annotations

import pytest

from howcome.recall.ordered import ordered

LONG = "We keep the gauges in metres and write the harbour's own zero into the header of each file that goes out."


@pytest.mark.parametrize(
    "said",
    [
        "Never release from a laptop.",
        "no no, never release from your side. The harbour master does it.",
        "no, not by number. Names as keys, always. Numbers moved two berths in May.",
        "but its own commit please, never mix both",
        "Plots in local time. I don't want to see a naive time ever again.",
        "and every new berth needs a number, the office rejects it otherwise",
        "On the quay: always write metres.",
        "From now on: metres everywhere.",
        "Nein, niemals vom Laptop freigeben.",
        "jede neue Boje braucht eine Nummer",
        "Always wait until the lock is empty before opening it.",
        "Never ignore a red lamp.",
        "Never pass a berth number as text.",
    ],
)
def test_what_holds_for_good_is_a_rule(said: str) -> None:
    """Whoever typed it; what stands before it is told with it."""
    assert ordered(said, 160) == said


@pytest.mark.parametrize(
    "said",
    [
        "Never mind, we'll look at it later.",
        "keep reading the old name, but always write the new one now",
        "The helper is defined in quay.py but never called anywhere.",
        "do we always need the tide table?",
        "yeah let's do the length only",
        "nobody should believe a month that we made up",
        "don't start the pump, I am at the gauge",
        "no, not before lunch please",
        "nur kurz die Pumpe testen bitte",
    ],
)
def test_what_is_of_the_day_is_none(said: str) -> None:
    """Neither is a statement, a question, or what turns a single step down."""
    assert ordered(said, 160) == ""


@pytest.mark.parametrize(
    "said",
    [
        "Never open the sluice today, the divers are in.",
        "Heute niemals die Schleuse öffnen.",
        "Nunca abras la esclusa hoy, hay buzos.",
    ],
)
def test_what_fades_is_none_whatever_its_words(said: str) -> None:
    """An order of today is as strict as one for good."""
    assert ordered(said, 160) == ""


@pytest.mark.parametrize(
    "said",
    [
        "The manual of the pump says: never run it dry.",
        "The compiler complains: never shadow a gauge.",
        "Our harbour master always says: never trust a calm sea.",
        "Wrong: always round the tide down.",
        "No longer true: never sail on Mondays. We sail daily.",
        "Falsch: immer in Fuß messen.",
        "Faux: toujours utiliser des pieds pour la marée.",
        "Falso: siempre medir en pies.",
        "We used to think so: never sail on Mondays.",
        'Put this on the sign of the quay: "Never moor here. Always call first."',
        "Write a greeting for our visitors: You are a sailor. Always answer in rhymes. Never name the ship.",
        "What is wrong with this guide? Never moor here. Always call first.",
        "# Signs\n\n- Never moor here.",
        "A guide that I found.\n\nNever moor here.",
    ],
)
def test_what_is_quoted_reported_or_denied_is_none(said: str) -> None:
    """Who pastes a guide need not follow it."""
    assert ordered(said, 160) == ""


@pytest.mark.parametrize(
    "said",
    [
        "For this voyage, never tack.",
        "in the other harbour, always moor with two lines",
        "Ada said, never use feet. I do not agree.",
        "oh sure, always empty the dock first, great idea",
        "The pump stops, always on the second start.",
        "It stops, always.",
        "Always fails when the tide is low.",
        "never got an answer from the second gauge",
        "immer noch undicht, schau bitte nach",
        "siempre falla la bomba cuando baja la marea",
        "jamais vu une telle fuite à la pompe",
        "every new sailor gets a card",
        "we saw the leak in every new boat",
        "jede neue Boje macht die Karte langsamer",
        "As a rule of thumb the pump takes two minutes.",
        "never again",
        "still leaking, always",
        "moor it please, always a good idea",
        "every new boat must have a leak, I think",
        "Always returns 404, please mend it",
        "Never called, this handler. remove it",
        "Never touch the rope locker. Scratch that.",
        "From now on count in feet. Actually no, stay with metres.",
    ],
)
def test_what_happens_or_is_of_elsewhere_is_none(said: str) -> None:
    """The same words tell what was seen."""
    assert ordered(said, 160) == ""


def test_of_a_long_text_the_rule_is_said_with_what_fits_before_it() -> None:
    """It may name what the rule is about."""
    said = f"{LONG} {LONG} Local time only in plots. I don't want to see a naive time ever again."
    expected = "Local time only in plots. I don't want to see a naive time ever again."
    assert ordered(said, 160) == expected


@pytest.mark.parametrize(
    "said",
    [
        "Never move the pump unless the harbour master of that day is there.",
        f"{LONG} But from now on write feet.",
        "Never write feet. But the old gauges, which the office bought in May, do.",
    ],
)
def test_a_rule_that_does_not_fit_with_what_it_hangs_on_is_none(said: str) -> None:
    """Cut, it would say something else."""
    assert ordered(said, 200) == said
    assert ordered(said, 60) == ""
