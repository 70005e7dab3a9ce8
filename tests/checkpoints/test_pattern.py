"""Expressions from a file, followed in bounded time: the answer is that of `re`, up to the limits."""

from __future__ import annotations

import re
from typing import Any

import pytest

from allranks.checkpoints import pattern
from allranks.checkpoints.pattern import Tries

TEXTS = (
    "", "a", "b", "ab", "aab", "abab", "a.b", "a b", "x1", "12", "1", "a\n", "\n", "a\nb", "model.layers.1.o_proj",
    "model.layers.12.q_proj", "layers", "A", "_", "-", "é", "aaa", "aaaa",
)  # fmt: skip
PATTERNS = (
    "a", "ab", ".", "..", "a.b", r"a\.b", "a|b", "a|ab|", "(a|b)b", "(?:ab)+", "a*", "a+b", "a?b", "a{2}",
    "a{2,3}", "a{2,}", "a+?", "(?:a|b){2,3}", "[ab]", "[^ab]", "[a-c1]", "[^a-c]", "[_-]", r"\d", r"\D",
    r"\s", r"\S", r"\w", r"\W", r"[\d_]", r"[^\w]", r"[\s.]", "(?=a)a", "(?!a).", "(?=ab).*", "(?!ab).*",
    "a(?=b)b", "a(?!b)", "^a", "a$", r"\Aa", r"a\Z", "$", "^", r"\ba", r"\Ba", r"a\b.b", r"a\B.*", r"a\b",
    r"\b", "a$\n", r".*\.layers\.[12]\..*o_proj", "(a)(b)?", "[a]b*", "a[^a]",
    r"(?:model\.)?layers(?:\.\d+)?(?:\.[oq]_proj)?", "((a|b)*1?)*", "é", "[à-ü]",
)  # fmt: skip


@pytest.mark.parametrize("one", PATTERNS)
def test_the_answer_is_that_of_re(one: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both with `re` itself, if the expression is a cheap one, and with all ways followed at once."""
    wanted = [re.fullmatch(one, text) is not None for text in TEXTS]
    assert [Tries().matches(one, text) for text in TEXTS] == wanted
    monkeypatch.setattr(pattern, "CHEAP_TEXT", -1)
    assert [Tries().matches(one, text) for text in TEXTS] == wanted


@pytest.mark.parametrize(
    "one",
    [r"(a)\1", "(?<=a)b", "(?<!a)b", "(?i)a", "(?i:a)", "(?x)a", "(((((a*)*)*)*)*)*", "a{513}", "(", "a**"],
)
def test_what_cannot_be_followed_is_not_tried(one: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "CHEAP_TEXT", -1)
    tries = Tries()
    assert tries.matches(one, "aa") is None and tries.refused == one
    assert tries.matches("a", "a") is True and tries.matches("(", "a") is None and tries.refused == one


def test_each_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """At it, and just beyond it."""
    assert Tries().matches("a" * 4096, "a") is False and Tries().matches("a" * 4097, "a") is None
    assert Tries().matches("a+", "a" * 512) is True and Tries().matches("a+", "a" * 513) is None
    assert Tries().matches("a{512}", "a" * 512) is True and Tries().matches("a{513}", "a" * 512) is None
    nested = "a"
    for depth in range(1, 6):
        nested = f"(?:{nested}b)*"
        assert (Tries().matches(nested, "a") is None) is (depth > pattern.DEEPEST)
    assert Tries(0.0).matches("a", "a") is None and Tries(9.0).left == 9.0


@pytest.mark.parametrize(
    ("one", "ways"),
    [
        ("abc", (0, 1)), ("a*", (1, 1)), ("a*b+c{2,}", (3, 1)), ("a?", (0, 2)), ("(?:a?b?)?", (0, 8)),
        ("a|b*|cc", (1, 3)), ("(?:a|b)(?:c|d|e)", (0, 1)), ("(?:ab|b)(?:c|d|ef)", (0, 6)),
        ("(?:ab)*", (float("inf"), 1)), ("(?=a*)b*", (2, 1)),
        ("(?!a*)(b*)", (2, 1)), ("[ab]*[^c]+.*", (3, 1)), ("(?:a*|b*)c*", (2, 2)), ("(?:ab|cd)?", (0, 4)),
    ],
)  # fmt: skip
def test_how_many_ways_re_would_try(one: str, ways: Any) -> None:
    """`c|d` is read as `[cd]`, one way; a repetition of more than one character has no end."""
    assert pattern._ways(pattern._parsed(one)[0]) == ways


def test_re_itself_tries_what_has_few_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    followed = pattern._ends

    def noted(parts: Any, text: str, places: Any, until: float) -> Any:
        asked.append(text)
        return followed(parts, text, places, until)

    monkeypatch.setattr(pattern, "_ends", noted)
    for one, text, cheap in (
        ("a*b*c*", "", True), ("a*b*c*d*", "", False), ("a?" * 6, "", True), ("a?" * 7, "", False),
        ("a*", "a" * 128, True), ("a*", "a" * 129, False), ("(?:ab)*", "", False),
    ):  # fmt: skip
        asked.clear()
        assert Tries().matches(one, text) is True
        assert bool(asked) is not cheap, one


def test_the_time_of_all_tries_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a second at each look."""
    clock = iter(range(1000))
    monkeypatch.setattr(pattern.time, "monotonic", lambda: float(next(clock)))
    tries = Tries(4.0)
    assert [tries.matches("a", "a") for _ in range(5)] == [True, True, True, True, None]
    assert Tries(3.0).matches("(?:ab)*", "ab" * 9) is None
