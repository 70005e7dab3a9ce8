"""Messages of shells and of the C library in other languages, and their English, which the complaints know.

Only the part of a text that no other message has is looked for. bash's and glibc's texts are translated by their
projects (`po/`), those of Windows' shells by Microsoft.
"""

from __future__ import annotations

import re
from typing import FrozenSet, Iterable

_TEXTS = (
    (
        "command not found",
        r"(?:Kommando|Befehl) (?:wurde )?nicht gefunden|commande (?:introuvable|non trouv\u00e9e)"
        r"|(?:orden|instrucci\u00f3n|comando) no encontrad[ao]|comando non trovato"
        r"|comando n\u00e3o encontrado"
        r"|\u043a\u043e\u043c\u0430\u043d\u0434\u0430 \u043d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d\u0430"
        r"|\u672a\u627e\u5230\u547d\u4ee4|\u627e\u4e0d\u5230\u547d\u4ee4"
        r"|\u30b3\u30de\u30f3\u30c9\u304c\u898b\u3064\u304b\u308a\u307e\u305b\u3093"
        r"|\uba85\ub839(?:\uc5b4)?\ub97c \ucc3e\uc744 \uc218 \uc5c6"
        r"|\u4e0d\u662f\u5185\u90e8\u6216\u5916\u90e8\u547d\u4ee4"
        r"|\u8bc6\u522b\u4e3a cmdlet|entweder falsch geschrieben oder konnte nicht gefunden"
        r"|n[\u2019']est pas reconnu en tant que|no se reconoce como un comando"
        r"|\u043d\u0435 \u044f\u0432\u043b\u044f\u0435\u0442\u0441\u044f"
        r" \u0432\u043d\u0443\u0442\u0440\u0435\u043d\u043d\u0435\u0439"
        r"|not recognized as (?:an internal or external command|the name of a cmdlet)",
    ),
    (
        "Permission denied",
        r"Keine Berechtigung|Permission non accord\u00e9e|Permiso denegado|Permesso negato"
        r"|Permiss\u00e3o negada"
        r"|\u041e\u0442\u043a\u0430\u0437\u0430\u043d\u043e \u0432 \u0434\u043e\u0441\u0442\u0443\u043f\u0435"
        r"|\u6743\u9650\u4e0d\u591f|\u62d2\u7d55\u4e0d\u7b26\u6b0a\u9650"
        r"|\u8a31\u53ef\u304c\u3042\u308a\u307e\u305b\u3093|\ud5c8\uac00 \uac70\ubd80",
    ),
    (
        "No space left on device",
        r"kein Speicherplatz mehr verf\u00fcgbar|Aucun espace disponible|No queda espacio|Spazio esaurito"
        r"|N\u00e3o h\u00e1 espa\u00e7o dispon\u00edvel"
        r"|\u043d\u0435 \u043e\u0441\u0442\u0430\u043b\u043e\u0441\u044c"
        r" \u0441\u0432\u043e\u0431\u043e\u0434\u043d\u043e\u0433\u043e \u043c\u0435\u0441\u0442\u0430"
        r"|\u8bbe\u5907\u4e0a\u6ca1\u6709\u7a7a\u95f4|\u88dd\u7f6e\u4e0a\u5df2\u7121\u591a\u9918\u7a7a\u9593"
        r"|\u7a7a\u304d\u9818\u57df\u304c\u3042\u308a\u307e\u305b\u3093"
        r"|\ub0a8\uc740 \uacf5\uac04\uc774 \uc5c6",
    ),
    (
        "Cannot allocate memory",
        r"Nicht gen\u00fcgend Hauptspeicher|Ne peut allouer de la m\u00e9moire|No se pudo asignar memoria"
        r"|Impossibile allocare memoria|\u65e0\u6cd5\u5206\u914d\u5185\u5b58"
        r"|\u7121\u6cd5\u914d\u7f6e\u8a18\u61b6\u9ad4"
        r"|\u30e1\u30e2\u30ea\u3092\u78ba\u4fdd\u3067\u304d\u307e\u305b\u3093"
        r"|\u041d\u0435\u0432\u043e\u0437\u043c\u043e\u0436\u043d\u043e"
        r" \u0432\u044b\u0434\u0435\u043b\u0438\u0442\u044c \u043f\u0430\u043c\u044f\u0442\u044c",
    ),
    (
        "Connection refused",
        r"Verbindungsaufbau abgelehnt|Connexion refus\u00e9e|Conexi\u00f3n rehusada|Connessione rifiutata"
        r"|Conex\u00e3o recusada|\u8fde\u63a5\u88ab\u62d2\u7edd|\u9023\u7dda\u88ab\u62d2\u7d55"
        r"|\u63a5\u7d9a\u3092\u62d2\u5426"
        r"|\u0412 \u0441\u043e\u0435\u0434\u0438\u043d\u0435\u043d\u0438\u0438"
        r" \u043e\u0442\u043a\u0430\u0437\u0430\u043d\u043e",
    ),
    (
        "No route to host",
        r"Keine Route zum Zielrechner|Aucun chemin d[\u2019']acc\u00e8s pour atteindre l[\u2019']h\u00f4te"
        r"|Nessun instradamento per"
        r"|\u6ca1\u6709\u5230\u4e3b\u673a\u7684\u8def\u7531"
        r"|\u30db\u30b9\u30c8\u3078\u306e\u7d4c\u8def\u304c\u3042\u308a\u307e\u305b\u3093",
    ),
    (
        "Name or service not known",
        r"Name (?:oder der )?Dienst ist nicht bekannt|Nom (?:ou )?service inconnu|Nombre o servicio desconocido"
        r"|Nome o servizio sconosciuto|\u540d\u79f0\u6216\u670d\u52a1\u672a\u77e5"
        r"|\u540d\u524d\u307e\u305f\u306f\u30b5\u30fc\u30d3\u30b9\u304c\u4e0d\u660e",
    ),
    (
        "Too many open files",
        r"Zu viele offene Dateien|Trop de fichiers ouverts|Demasiados ficheros abiertos|Troppi file aperti"
        r"|\u6253\u5f00\u7684\u6587\u4ef6\u8fc7\u591a"
        r"|\u30d5\u30a1\u30a4\u30eb\u3092\u958b\u304d\u3059\u304e\u3067\u3059",
    ),
    (
        "Address already in use",
        r"Adresse wird bereits verwendet|Adresse d\u00e9j\u00e0 utilis\u00e9e|Indirizzo gi\u00e0 in uso"
        r"|\u5730\u5740\u5df2\u5728\u4f7f\u7528|\u30a2\u30c9\u30ec\u30b9\u306f\u65e2\u306b\u4f7f\u7528",
    ),
    (
        "Input/output error",
        r"Eingabe-/Ausgabefehler|\u8f93\u5165/\u8f93\u51fa\u9519\u8bef"
        r"|\u5165\u529b/\u51fa\u529b\u30a8\u30e9\u30fc",
    ),
    (
        "Segmentation fault",
        r"Speicherzugriffsfehler|Erreur de segmentation|Errore di segmentazione|\u6bb5\u9519\u8bef",
    ),
    (
        "SIGKILL: Killed",
        r"Get\u00f6tet|Processus arr\u00eat\u00e9|Terminado \(killed\)|\u0423\u0431\u0438\u0442\u043e"
        r"|\u5df2\u6740\u6b7b",
    ),
)  # fmt: skip
_ENGLISH = tuple(english for english, _ in _TEXTS)
_ANY = re.compile("|".join(f"({expression})" for _, expression in _TEXTS))

WORDS = (
    "nicht", "introuvable", "encontrada", "encontrado", "trovato", "denegado", "negato", "queda", "esaurito", "reconnu",
    "reconoce", "asignar", "allocare", "abgelehnt", "rifiutata", "zielrechner", "keine", "instradamento", "bekannt",
    "inconnu", "desconocido", "sconosciuto", "dateien", "fichiers", "ficheros", "aperti", "adresse", "erreur", "errore",
    "speicherzugriffsfehler", "ausgabefehler", "espace", "terminado", "recognized",
)  # fmt: skip
"""Each of these texts that is ASCII has one of them."""

_KEYS: FrozenSet[bytes] = frozenset(form.encode() for word in WORDS for form in (word, word.capitalize()))


_LETTERS = frozenset(chr(int(code, 16)) for code in re.findall(r"\\u([0-9a-f]{4})", _ANY.pattern))
"""Each of these texts that is not ASCII has one of them."""


def may_be_foreign(text: str, words: Iterable[bytes]) -> bool:
    return not _KEYS.isdisjoint(words) or not (text.isascii() or _LETTERS.isdisjoint(text))


def english(text: str) -> str:
    """The same line with these texts in English."""
    return _ANY.sub(lambda match: f" {_ENGLISH[(match.lastindex or 1) - 1]} ", text)
