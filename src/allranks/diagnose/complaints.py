"""Complaints that no pattern knows: lines in which a driver, a daemon, a scheduler or a runtime reports a failure.

Such programs say that something failed in few words, of few subjects. If nothing else explains a log, its last
complaints are offered to the causes, each of which may declare in its file which subjects are its own (`COMPLAINT`).
"""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from allranks.diagnose import tongues
from allranks.diagnose.claims import OVERRIDES, compiled, readable
from allranks.diagnose.known_warnings import is_known_warning
from allranks.diagnose.lines import Line
from allranks.diagnose.streams import CODE, Seen

_STEMS = (
    "error", "errors", "fail", "fails", "failed", "failing", "failure", "failures", "fatal", "panic", "cannot",
    "unable", "refused", "denied", "unreachable", "timeout", "timed", "lost", "dead", "died", "killed", "crash",
    "crashed", "crashes", "insufficient", "unschedulable", "evicted", "preempted", "exceeded", "corrupt",
    "corrupted", "invalid", "unavailable", "aborted", "aborting", "abort", "unexpectedly", "missing", "expired",
    "hang", "hangs", "stuck", "stucks", "stucked",
    "xid", "oom", "OOMs", "exhausted", "terminated", "rejected", "unhealthy", "abnormally", "exception",
    "critical", "fault", "couldn", "exits", "exited", "dropped", "crashing", "hung", "stalled", "broken",
    "disconnected", "uncorrectable", "found", "such", "exist", "busy", "supported", "closed", "unknown",
    "faults", "hanging", "detected", "available", "no", "not", "shutdown", "shut", "retry", "leaked", "sigabrt",
    "sigsegv", "sigkill", "sigbus", "exceeds", "exceed", "corruption", "stops", "stopped", "quota", "capacity",
    "cant", "doesnt", "wont",
    "out", "loses", "losing", "disappeared", "disappears", "disappear", "gone", "exclusive", "waiting", "full",
    "dies", "dying", "refuses", "gives", "giving", "gave",
    "interruption", "interrupted", "canceled", "cancelled", "oom", "oomkilled", "sighup",
    "prohibited", "unprotected", "forbidden", "untolerated", "unbound", "unauthorized", "didn", "unplugged", "reset",
    *tongues.WORDS,
)  # fmt: skip

_FORMS = (form for stem in _STEMS for form in (stem, stem.capitalize(), stem.upper()))
WORDS: Tuple[str, ...] = (*_FORMS, "OOMKilled", "OOMkilled", "NotReady", "NodeNotReady")
"""A complaint has one of these words."""

_LONG = 7
"""Letters from which on a word is seldom a part of another one, as "fault" is of "default"."""
_SHORT_ONES = "|".join(stem for stem in _STEMS if len(stem) < _LONG)
_LONG_ONES = "|".join(stem for stem in _STEMS if len(stem) >= _LONG)
EXPRESSION = rf"(?i)(?:^|[^a-z])(?:{_SHORT_ONES})(?:[^a-z]|$)|{_LONG_ONES}|NCCL WARN|OOMKilled|NotReady"
"""For a matcher: every line that complains matches it, and a few others. With the ends of every word Hyperscan takes
longer to compile it, and longer still with all forms of the words."""

_KEYS: FrozenSet[bytes] = frozenset(word.encode() for word in WORDS)
_SAYS = re.compile(
    r"(?<![a-z])(?:\w{0,40}(?:error|exception)s?|err(?:no)?s?|fail(?:s|ed|ing|ures?)?|fatal|panic"
    r"|cannot|can ?not"
    r"|can ?[’']?t|doesnt|wont|unable"
    r"|g(?:ives?|iving|ave) up"
    r"|could ?n[’o]?[’']?t|refuse[sd]|denied|unreachable|time ?-?outs?|timed out|lost|dead|died|killed"
    r"|crash(?:e[sd]|ing)?"
    r"|insufficient|unschedulable|evicted|preempted|exceed(?:ed|s)?|corrupt(?:ed|ion)?|invalid|unavailable"
    r"|abort(?:ed|ing|s)?|unexpected(?:ly)?|missing|expired|hang(?:s|ing)?|hung|stuck(?:s|ed)?|exhausted|terminated"
    r"|rejected|unhealthy"
    r"|abnormally|exception|critical|faults?|exit(?:s|ed) with|dropped|stalled|already in use|too many open"
    r"|prohibited|unprotected|forbidden|untolerated|unbound|(?:closed|reset) by|unauthorized"
    r"|didn[’']t match|unplugged|nccl warn"
    r"|broken|disconnected|uncorrectable"
    r"|not (?:be )?(?:found|resolved|reached|supported|exist|available|allowed|responding"
    r"|ready|initiali[sz]ed|permitted"
    r"|running|recogni[sz]ed)"
    r"|no such|does ?n[o’']t exist|busy|closed|unknown|detected|double free|shut ?down"
    r"|out of (?:quota|capacity|memory|resources?|space|disk)"
    r"|retry loop|leaked|denies|loses|losing|disappear(?:s|ed)?|gone|mutually exclusive"
    r"|(?:is|are|was|disk|quota|device) full|waiting (?:for|until)"
    r"|not (?:yet )?(?:up|reachable|start(?:ed|ing)?|work(?:s|ing)?|connected|enough|respond)"
    r"|won['’]?t start"
    r"|no (?:\w{1,20} )?(?:devices?|gpus?|nodes?|route|space|response|capacity|resources?|victims)"
    r"|dies|dying|interrupt(?:ion|ed)|cancell?ed|(?:node)?notready|oom(?:[- ]?kill\w{0,4}|s|ed)?"
    r"|gpu resets?|xid:? \d{1,3}|sig(?:abrt|segv|kill|bus|fpe|ill|hup))(?![a-z])"
    "|\u65e0\u6cd5|\u5931\u8d25|\u8d85\u65f6|\u62a5\u9519|\u9519\u8bef|\u5f02\u5e38|\u5361\u4f4f"
    "|\u5d29\u6e83|\u5361\u6b7b|\u4e2d\u65ad|\u6302\u6389|\u65ad\u5f00|\u4e0d\u8db3|\u6ea2\u51fa"
    "|\u5360\u7528|\u7206|(?<!\u663e)\u5361\u5728|\u88ab ?kill|\u88ab\u6740|\u6740\u6b7b|\u6389\u5361|\u6302\u8d77"
    "|\u4e22\u5931|\u65ad\u8fde|\u7f3a\u5c11|\u627e\u4e0d\u5230|\u672a\u5b89\u88c5|\u6ca1\u6709\u5b89\u88c5"
    "|\u6ca1\u5b89\u88c5|\u4e0d\u652f\u6301|\u4e0d\u517c\u5bb9|\u672a\u68c0\u6d4b|\u6ca1\u6709\u68c0\u6d4b"
    "|\u68c0\u6d4b\u4e0d\u5230|\u8bc6\u522b\u4e0d\u5230"
)
"""In small letters, as the text is made: to look for both takes three times as long."""

_EXCUSES = re.compile(
    r"(?<![a-z])(?:info|avoiding|preventing|debug(?!_)|verbose|ignor(?:e|ed|ing)|skip(?:ped"
    r"|ping)?|deprecat\w{0,6}"
    r"|no errors?"
    r"|/sys/module/amdgpu|amdgpu not found in modules|net/plugin\b.{0,20}not find"
    r"|(?<!\S)--?\w[\w-]{1,60}: command not found|libnccl-net[\w.-]{0,20} ?: cannot open shared object file"
    r"|register cu\w{2,8} (?:factory|plugin)|0 (?:errors?|failed)|errors?[ =:]{1,3}0|without errors?"
    r"|not (?:supported|available|found|installed)\W{1,3}(?:using|use|will use|defaulting|disabling)"
    r"|using default|succe(?:ss|eded)\w{0,4}|recovered|passed"
    r"|on_?error|libibverbs|lib wrapper|flight recorder|no need"
    r"|no longer (?:required|needed|necessary)|not (?:need|requir)\w{0,4})(?![a-z])|\|\| {0,4}(?:echo|true|exit)\b"
    r"|^\W{0,6}if (?!i\b|we\b|my\b|our\b|it\b|the (?:job|training)\b)"
    r"|unable to initialize backend|to perform barrier as devices|autotune, .{1,120} appears to be on an nfs"
    r"|could not find (?:cuda drivers|tensorrt)|not available, (?:running|training) on cpu"
)
_OTHER_SERVER = re.compile(
    r"(?<![a-z])(?!\S{0,40}(?:llm|sglang|inference|api|model))\S{1,40} server at (?:localhost|127)(?![a-z])"
)
_EXCUSED_AS_WRITTEN = re.compile(r"(?<![A-Za-z])(?:TRACE|error_?(?:rate|file|handler|log)s?)(?![A-Za-z])")
_SOFTENS = re.compile(
    r"(?i)(?<![a-z])(?:retry(?:ing)?|fall(?:s|ing)? ?back|fallback|optional|\w{0,30}warning:|\w{0,30}warn:?"
    r"|if you"
    r"|will (?:be )?(?:use|try|ignore|disable|not)\w{0,2}|instead|to avoid|may (?:cause|lead|fail)|might"
    r"|can lead"
    r"|expected|note|no|not|please|should|waiting|(?-i:WARNING))(?![a-z])"
)
"""A program that goes on writes so; a thread that quotes one line does it because that line was the last."""

_HARD = re.compile(
    r"(?i)(?<![a-z])(?:err(?:or)?|fail(?:ed|ure|s)|fatal|cannot|can ?not|unable|refused|denied|died"
    r"|crash(?:ed|es)"
    r"|killed|aborted|NCCL WARN|not (?:found|responding|supported|initiali[sz]ed|available|permitted|running)"
    r"|no (?:such|route|space|\w{1,20} (?:found|devices?|available)))(?![a-z])"
)
_OF_LAUNCHERS = re.compile(
    r"exitcode|exit code: 1\b|distributed[./]elastic|keep-alive heartbeat|failed to shutdown|frame #"
    r"|Exited with exit code|returned (?:a )?non-zero exit|one or more processes exited"
    r"|Primary job|^\s{0,80}[\w.]{1,80}\(.{0,400}=.{0,400}\)$"
    r"|socket has failed to connect to \[|Plugin load returned|^\[?W(?:\d{3,4})? "
    r"|Service thread\] Accept failed|\.py FAILED$|Failed to sample metric|^[ ]{0,8}\|?[ ]?\*\*[\w.]{1,60}\*\* \|"
    r"|^[ -]{0,40}[\w./-]{1,80}[ ]?[:=][ ]?(?:null|~|true|false|none|-?[\d.]{1,20}\w{0,3}),?[ ]{0,4}$"
)
"""Launchers repeat that another process failed, debuggers list the code that ran, and programs print themselves and
their settings."""

_GUESSES = re.compile(
    r"(?i)(?<![a-z])(?:(?:possible|potential|common|likely) (?:\w{1,10} )?(?:reasons?|causes?)"
    r"|some (?:of the )?reasons"
    rf"|either|this (?:may|can|could|might|usually|often) |{OVERRIDES}\[)"
)
"""The rest of such a line guesses at reasons, or repeats the arguments."""

OF_CODE = frozenset((
    "ValueError", "TypeError", "KeyError", "AttributeError", "NameError", "IndexError", "AssertionError", "ImportError",
    "ModuleNotFoundError", "NotImplementedError", "SyntaxError", "UnboundLocalError", "FileNotFoundError",
))  # fmt: skip
_LOST = re.compile(
    r"(?i)connect|unreachable|no route|timed? ?out|refused|unavailable|reset by peer"
    r"|(?<![a-z])(?:dead|died|lost|killed)(?![a-z])"
)
_SCRIPTS = re.compile(r"(?<=[^\x00-\x7f])(?=[\x00-\x7f])|(?<=[\x00-\x7f])(?=[^\x00-\x7f])")
"""Between a Chinese word and an English one, which no blank separates."""

_PATH = re.compile(r"(?<![\w:])(?:/[\w.@+-]{1,80}){2,20}(?=/[\w.@+-])")
"""The names of folders are a subject only if there is no other. That of a file is one."""

_WARNS = re.compile(r"(?:^|[\s:\[])W(?:\d{3,4})?[ ]")
"""glog's mark, also with the month and the day."""

_LONGEST = 1000
KEPT = 8
NEAR_THE_END = 40
"""Lines of the same stream after a complaint. If more follow, the program had gone on."""


class Complaint(NamedTuple):
    """`subject` is searched in a line that complains; without one the cause claims no such line. `general`: a complaint
    on a special subject wins. `hints`: more subjects, which are general even if `subject` is not. `settles`: words that
    say what happened, which win over all subjects that only say of what. `needs`: if an exception only comes near to
    the cause, one of these must be in its text or in its frames."""

    subject: str = ""
    general: bool = False
    hints: str = ""
    settles: str = ""
    needs: str = ""


class Heard(NamedTuple):
    """One complaint: how it is said, the number of its line in its stream, the line, its number over all sources, the
    steps before it."""

    how: int
    number: int
    line: Line
    order: int
    steps: int


NO, MENTIONED, SAID = range(3)
"""Whether a line complains. If it may only warn, it counts in a text so short that it is about it."""


def complains(text: str, words: Iterable[bytes]) -> int:
    """How a line reports a failure; `words` are its runs of letters. No digit's value matters."""
    named = "Error" in text or "Exception" in text or "NCCL WARN" in text
    if _KEYS.isdisjoint(words) and not named and text.isascii():
        return NO
    text = text[:_LONGEST]
    text = tongues.english(text) if tongues.may_be_foreign(text, words) else text
    if _SAYS.search(text.lower()) is None or _excuses(text):
        return NO
    if _OF_LAUNCHERS.search(text) is not None or CODE.match(text) is not None or is_known_warning(text):
        return NO
    return MENTIONED if _SOFTENS.search(_HARD.sub("", text)) is not None else SAID


def is_excused(text: str) -> bool:
    """Whether a line comes from a program that goes on, or is not the message of a program."""
    launches = _OF_LAUNCHERS.search(text, 0, _LONGEST) is not None or CODE.match(text) is not None
    return launches or is_known_warning(text) or _excuses(text[:_LONGEST])


def _excuses(text: str) -> bool:
    said = text.lower()
    if _EXCUSES.search(said) is not None or _EXCUSED_AS_WRITTEN.search(text) is not None:
        return True
    return " server at " in said and _OTHER_SERVER.search(said) is not None


def is_warning(text: str) -> bool:
    """Whether a logger wrote the line as a warning."""
    return _WARNS.search(text, 0, 80) is not None


def told_in(text: str) -> str:
    """The report of a line, without the rest of it that guesses at reasons."""
    guess = _GUESSES.search(text, 0, _LONGEST)
    return text[: guess.start() if guess is not None else _LONGEST]


def keep(seen: Seen, heard: Heard) -> None:
    """Keeps the last few complaints of a stream."""
    seen.complaints = [*seen.complaints[1 - KEPT :], heard]


def near_the_end(streams: Iterable[Seen], count: int) -> List[Heard]:
    """The complaints that not much else followed, in order. `count`: the lines of all sources."""
    found = [one for seen in streams for one in seen.complaints if seen.lines - one.number <= NEAR_THE_END]
    if count > NEAR_THE_END:
        found = [one for one in found if one.how == SAID]
    return sorted(found, key=lambda one: one.order)


def complainants(subjects: Dict[str, Complaint], text: str) -> List[Tuple[bool, int, str]]:
    """(whether its subject is a general one, where in the text, cause) for each cause that a complaint may belong to,
    the likeliest first."""
    text = readable(tongues.english(told_in(text)))
    if not text.isascii():
        text = _SCRIPTS.sub(" ", text)
    return _about(subjects, _PATH.sub("/", text)) or _about(subjects, text)


def _about(subjects: Dict[str, Complaint], text: str) -> List[Tuple[bool, int, str]]:
    found: List[Tuple[bool, int, str]] = []
    for name, one in subjects.items():
        sure = compiled(one.settles).search(text) if one.settles else None
        match = sure or (compiled(one.subject).search(text) if one.subject else None)
        if match is not None:
            found.append((one.general, match.start() if sure is None else match.start() - _LONGEST, name))
        hint = compiled(one.hints).search(text) if one.hints else None
        if hint is not None:
            found.append((True, hint.start(), name))
    return sorted(found)


def of_exception(subjects: Dict[str, Complaint], kind: str, text: str) -> Iterator[str]:
    """The causes that an exception of a program may belong to, by its special subjects, and if a connection or a
    process was lost by general ones. Exceptions that only wrong code raises have no such subject. Without a `kind` the
    text is a heading, which must complain."""
    if kind not in OF_CODE and (kind or _SAYS.search(text.lower()) is not None):
        lost = _LOST.search(f"{kind} {text}") is not None
        yield from (name for general, _, name in complainants(subjects, text) if lost or not general)


def has_needs(subjects: Dict[str, Complaint], name: str, texts: Iterable[str]) -> bool:
    """Whether these texts hold one of the words that the cause needs."""
    needs = subjects[name].needs if name in subjects else ""
    return not needs or any(compiled(needs).search(text) is not None for text in texts)


def first_known(subjects: Dict[str, Complaint], heard: Iterable[Heard]) -> Optional[Tuple[bool, str, Heard]]:
    """(whether its subject is a general one, cause, complaint) of the first complaint on a special subject, else of the
    first on a general one."""
    found: Dict[str, List[Tuple[bool, int, str]]] = {}
    general = None
    for one in sorted(heard, key=lambda one: one.order):
        text = one.line.text  # ranks repeat each other's
        if text not in found:
            found[text] = complainants(subjects, text)
        if found[text] and not found[text][0][0]:
            return False, found[text][0][2], one
        if found[text] and general is None:
            general = (True, found[text][0][2], one)
    return general
