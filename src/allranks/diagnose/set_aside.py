"""Lines with words of a failure that report none: the program says that it goes on without something, only warns, or
the line is data or a message of a daemon that runs on any machine."""

from __future__ import annotations

import re

_LOOKED_AT = 600
_GOES_ON = re.compile(
    r"^(?:\W{0,8}(?:Ignor(?:e|ed|ing)|Skipp(?:ed|ing))\b"
    r"|Failed to load generation config for "  # SGLang, which then takes its own
    r"|\[nltk_data\] "  # NLTK, which returns False
    r"|Using the latest cached version of the dataset since )"
    r"|\b(?:consider installing\b.{0,80}\b(?:for (?:better|faster|improved)|if you want)\b"
    r"|redzone_allocator\.cc\b.{0,40}\bptxas exited with "  # TensorFlow, which then asks the driver
    r"|[Dd]isabling (?:its|their) usage\b|will be (?:ignored|skipped|disabled)\b|(?:is|are) ignored\b)"
)
"""The program says that it ignores what failed, or goes on without it."""

_DETAIL = re.compile(r"^.{0,60}?(?<![\w.-])(?:DEBUG|TRACE)(?:[\]:]|[ ]{1,4})(?![\w]{1,20}=)")
"""A logger's level for what only its authors look at."""

_DAEMONS = (
    "ModemManager", "NetworkManager", "PackageKit", "Xorg", "accounts-daemon", "anacron", "apache2?", "avahi-daemon",
    "bluetoothd", "colord", "cron", "CRON", "cupsd?", "dbus-daemon", "dhclient", "dovecot", "fwupd\\w{0,10}",
    "gdm\\S{0,20}", "gnome-\\S{1,40}", "irqbalance", "lightdm", "mysqld?", "nginx", "packagekitd", "polkitd",
    "postfix\\S{0,20}", "pulseaudio", "rtkit-daemon", "smartd", "snapd", "thermald", "tracker-\\S{1,40}",
    "udisksd", "upowerd", "whoopsie", "wpa_supplicant",
)  # fmt: skip
"""Programs of desktops and servers. Their failures do not end a training."""

OF_DAEMON = r"(?:" + "|".join(_DAEMONS) + r")\[\d{1,9}\]:"
_OF_DAEMON = re.compile(r"^(?:[\w.-]{1,80} )?" + OF_DAEMON)

_OF_SCREEN = re.compile(
    r"(?i)\b(?:pipewire|grab modeset ownership)\b|^(?:\[[^\]]{1,20}\] )?thermal thermal_zone\d"
)
"""The kernel and a desktop on a screen, its sound, and a sensor that does not answer."""

_LITERAL = re.compile(
    r"\s{1,16}[rbf]{0,2}(?:\"[^\"]{1,400}\"|'[^']{1,400}'),$|[A-Z][A-Z\d_]{1,60} = [\[{(] ?[rbf]{0,2}[\"'][^\"']"
)
"""A text in a program's source, with nothing around it but a name."""

PLACE_OF_VALUE = "<*>"
"""In templates of messages, as programs that mine logs write them."""

_PROMPT = re.compile(
    r"(?i)^(?!.{0,200}\b(?:error|exception|failed|traceback)\b.{0,200}\bprompt).{0,200}\bprompts?: \[?[\"']"
)
"""A server or a script shows a text that it was given."""

_DATA = re.compile(r"^\s{0,8}[\[{]\s{0,8}[\[{]?\s{0,8}['\"]\w{1,40}['\"]\s?:")
DATA_LENGTH = 1000
"""Characters from which on an object in JSON is taken for data, not for the record of a log's line."""


_TABLE = re.compile(
    r"\s{0,8}[|\u2502\u2503][^|\u2502\u2503\n]{0,80}(?:[|\u2502\u2503]\s{0,20}-?\d[\d.,%]{0,20}\s{0,20}){2,20}[|\u2502\u2503]\s{0,20}$"
)
"""A row of a table of numbers, whatever its first column is called."""
_LINES = ("|", "\u2502", "\u2503")

_PROSE = re.compile(r"[a-z'’,.;?\t -]{180}", re.IGNORECASE)
PROSE_WORDS = 30
"""Words in a row of letters and commas alone."""


def is_prose(text: str) -> bool:
    """Whether a line is a text that a program read or wrote, in which words of a failure report none."""
    found = _PROSE.match(text)
    return found is not None and len(found.group().split()) >= PROSE_WORDS


def is_set_aside(text: str) -> bool:
    """Whether nothing in this line can be why a job failed. No digit's value matters."""
    if PLACE_OF_VALUE in text or (len(text) >= DATA_LENGTH and _DATA.match(text) is not None):
        return True
    if "rompt" in text and _PROMPT.match(text) is not None:
        return True
    if text.lstrip()[:1] in _LINES and _TABLE.match(text) is not None:
        return True
    if _DETAIL.match(text) is not None or _OF_DAEMON.match(text) is not None:
        return True
    if _OF_SCREEN.search(text, 0, _LOOKED_AT) is not None or _LITERAL.match(text) is not None:
        return True
    return _GOES_ON.search(text, 0, _LOOKED_AT) is not None


_WARNS = re.compile(
    r"(?:\(\w{0,40}\s?pid=\d{0,9}\)\s?)?\[?W\d{4}[ ]\d\d:\d\d|W (?:tensorflow|external|xla)/"  # glog
    r"|\S{1,300}\.py:\d{1,7}: \w{0,40}Warning: |(?:[A-Za-z_]\w{0,60}\.){0,8}\w{0,40}Warning: "
    r"|(?:\(\w{0,40}\s?pid=\d{0,9}\)\s?)?WARNING:? (?:\d\d-\d\d \d\d:|\[)|WARNING:[\w.]{1,80}:|wandb: WARNING "
    r"|(?:\[[\w.:/ ,-]{1,80}\][ ]?){0,3}\[WARN(?:ING)?\b"  # loggers that put the level into brackets
)


def warns(text: str) -> bool:
    """Whether Python, a logger or glog prints the line as a warning: then the program went on."""
    return _WARNS.match(text) is not None
