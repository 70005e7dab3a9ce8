"""What a shell and the C library say in another language is known as in English."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse
from allranks.diagnose.chinese import in_english
from allranks.diagnose.tongues import english

TEXTS = [
    ("bash: ninja: Kommando nicht gefunden.", "missing-system-tool"),
    ("-bash: torchrun : commande introuvable", "missing-system-tool"),
    ("bash: torchrun: orden no encontrada", "missing-system-tool"),
    ("bash: torchrun: \u672a\u627e\u5230\u547d\u4ee4", "missing-system-tool"),
    ("'torchrun' is not recognized as an internal or external command,", "missing-system-tool"),
    ("tar: x: Cannot write: kein Speicherplatz mehr verf\u00fcgbar", "disk-full-checkpoint"),
    ("cp: \u5199\u5165\u9519\u8bef: \u8bbe\u5907\u4e0a\u6ca1\u6709\u7a7a\u95f4", "disk-full-checkpoint"),
    ("mkdir: out: Permiso denegado", "permission-denied-output"),
    ("\u5df2\u6740\u6b7b", "rank-sigkilled"),
    ("bash: fork: \u65e0\u6cd5\u5206\u914d\u5185\u5b58", "too-many-processes"),
    ("bind: Die Adresse wird bereits verwendet", "rendezvous-port-in-use"),
    ("open: Zu viele offene Dateien", "too-many-open-files"),
]


@pytest.mark.parametrize(("line", "cause"), TEXTS)
def test_the_cause_is_the_same_in_another_language(line, cause):
    found = diagnose(parse(line + "\n", "x.log"))
    assert (found.cause, found.confidence) == (cause, "likely")


def test_other_text_stays_as_it_is():
    line = "Die Adresse ist 10.0.0.5, \u8bad\u7ec3\u5f00\u59cb"
    assert english(line) == line
    assert diagnose(parse(line + "\n", "x.log")).cause == "unproven"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("\u7f3a\u5c11mpi4py", " no module named mpi4py"),
        ("\u7f3a\u5c11config", " missing config"),
        ("bitsandbytes \u672a\u5b89\u88c5", "bitsandbytes is not installed "),
        ("\u9a71\u52a8\u7248\u672c\u592a\u4f4e", " driver version is too old "),
        ("two  blanks", "two  blanks"),
    ],
)
def test_words_of_errors_in_chinese_are_read_as_english(text, known):
    assert in_english(text) == known
