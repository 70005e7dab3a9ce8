"""Errors that no pattern knows, and those of which only a subject is known: the cause that their words are likeliest of
(`wordings.py`)."""

from __future__ import annotations

import re
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

from allranks.core.causes import UNPROVEN
from allranks.diagnose.catalogue import cause, claims, complaints, nearest, shares
from allranks.diagnose.claims import (
    SAVES,
    claimants,
    compiled,
    message_of,
    of_code,
    of_several_words,
    readable,
    tells_a_name,
)
from allranks.diagnose.complaints import (
    OF_CODE,
    has_needs,
    is_excused,
    is_warning,
    near_the_end,
    of_exception,
    told_in,
)
from allranks.diagnose.digits import ALIKE_TEXT
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.fragments import ALONE, MESSAGE_WORDS, SHORT, cut_off, of_assertion, of_title, quoted
from allranks.diagnose.lines import Line
from allranks.diagnose.quotes import is_handled
from allranks.diagnose.set_aside import is_set_aside
from allranks.diagnose.source_lines import is_source
from allranks.diagnose.store import MARKS
from allranks.diagnose.streams import Raised, is_own_frame
from allranks.diagnose.survival import LATER_STEPS
from allranks.diagnose.symptom import WORDS, Case, Hit
from allranks.diagnose.symptoms.checkpoint_corrupt_resume_fail import CAUSE as CHECKPOINT
from allranks.diagnose.symptoms.tokenizer_or_model_file_missing import CAUSE as MODEL_FILE
from allranks.diagnose.symptoms.version_drift_transformers_peft import OWN
from allranks.diagnose.symptoms.wrong_arguments import OF_SETTINGS
from allranks.diagnose.wordings import words

_NAMED = re.compile(r"[A-Za-z](?:Error|Exception)(?![A-Za-z])")
"""An exception that is only mentioned: if it ended something, it is among those that are quoted."""

_OF_WEB = re.compile(r"/(?:urllib3|requests|httpx|httpcore|aiohttp|botocore|urllib|http)/|/ssl\.py")
"""Frames of a client of web servers, which loses its connection to them and not to a rank."""

MOST = 200
"""Texts whose words are judged, which takes less than 1 ms for each."""

NOTE = "No pattern matches this error. It reads most like this cause."


OF_EXCEPTION = 0.15
"""The least lead of the words of an exception, which is a crash without a special cause otherwise."""
CLEAR = 0.3
"""The least lead of the words of an exception that wrong code raises, or of which only the heading is known."""
PLAIN = 0.5
"""The least lead of a line without any word of a failure, in a text that is nothing else."""
OF_LONG_LOG = 0.4
"""The least lead in a text that is not about what each of its lines says."""
OF_CRASH = 0.2
"""The least lead with which a line of a short text says only that a program crashed."""
SUBJECT = 6.0
"""How much more likely a subject makes its cause."""
LEAST = 0.2
"""The least probability of a cause that wins over that of the subject."""
NOTHING = 0.5
"""The lead at which they say that a line tells no cause, although it has a subject."""


def owners(seen: Evidence, raised: Raised, crashed: str) -> Iterator[str]:
    """The causes that an exception without a pattern may belong to, the likeliest first. The code that raised it comes
    before its subject, which the other words may overrule, and these before the words alone."""
    said = message_of(raised.line.text)
    if (
        raised.kind in PROGRAMS_MISTAKES
        or any(one.search(said) for one in _OF_OTHERS)
        or _is_own_call(said, raised)
    ):
        return
    told, stated = raised.line.text, says_what(raised)
    is_own, frames = stated and is_users(raised), () if stated else raised.frames
    if not frames and raised.order == seen.title:  # the traceback below may be cut off
        frames = next((one.frames for one in cut_off(seen)), ())
    context = raised.context if raised.kind else f"failed: {raised.context}"
    by_statement = [*of_assertion(raised), *of_code(claims(), told, raised.code, frames)]
    by_words = list(claimants(claims(), told, frames, context, is_own=is_own))
    placed = bool(by_statement) or next(claimants(claims(), "", frames), None) is not None
    placed = placed or (bool(by_words) and of_several_words(claims(), by_words[0], message_of(told)))
    if by_words and not placed and told:
        by_words[0] = reworded(by_words[0], f"{message_of(told)} {raised.context}", crashed)
        if by_words[0] in (UNPROVEN, crashed):
            return
    yield from of_assertion(raised)
    claimed = claimants(claims(), told, frames, context, raised.code, is_own) if placed else by_words
    if raised.kind == "FileNotFoundError":
        claimed = _of_missing_file(raised, claimed)
    yield from claimed
    yield from of_title(seen, raised.kind)
    said = told if raised.kind else raised.context
    vague = is_own and _OF_JOB.search(said) is None
    of_runtimes = [] if vague else list(of_exception(complaints(), raised.kind, said))
    if of_runtimes and not (placed or by_words) and told:
        of_runtimes[0] = reworded(of_runtimes[0], f"{message_of(told)} {raised.context}", crashed)
    of_web = any(map(_OF_WEB.search, raised.frames))
    texts = (told, raised.context, raised.code, *frames)
    near = [name for name in of_runtimes if name not in (UNPROVEN, crashed)]
    near += _likeliest(raised, crashed, PLAIN if vague else OF_EXCEPTION)
    near = [name for name in near if not (of_web and (cause(name).is_blame or cause(name).of_ranks))]
    yield from (name for name in near if has_needs(complaints(), name, texts))


_FRAMEWORKS = re.compile(
    r"/(?:accelerate|axolotl|colossalai|composer|deepspeed|fairseq\d?|fastchat|lightning|lit_?gpt|llamafactory|llmfoundry"
    r"|llmtuner|lmdeploy|megatron|mmcv|mmengine|nemo(?:_\w{1,20})?|open_?instruct|openrlhf|peft|ray|sglang|swift|tensorrt_llm"
    r"|torchtitan|torchtune|transformers|trl|unsloth|verl|vllm|xtuner)/"
)
"""Folders of frameworks that people also run from a checkout."""


def says_what(raised: Raised) -> bool:
    """Whether a program raised this exception on purpose and with a message. Then the message is about what went wrong,
    and the names of the file and the function say less."""
    message = raised.line.text.partition(": ")[2]
    stated = bool(raised.frames) and raised.code.startswith(("raise ", "assert "))
    return stated and len(message.split()) >= MESSAGE_WORDS


def is_users(raised: Raised) -> bool:
    """Whether the innermost frame is code of the user, and not of a framework."""
    return is_own_frame(raised.frames[-1]) and _FRAMEWORKS.search(raised.frames[-1]) is None


_RESUMES = re.compile(r"(?i)resum|latest|checkpoint-\d|global_?step|epoch|\brestor")


def _of_missing_file(raised: Raised, claimed: Iterable[str]) -> Iterator[str]:
    """The causes that claim an exception about a missing file. None of them applies if the program wanted to write the
    file. A checkpoint that is missing is a model's file that is missing, unless a run is resumed."""
    shown = (raised.line.text, raised.code, *raised.frames)
    if any(map(SAVES.search, shown)):
        return
    resumes = any(map(_RESUMES.search, shown))
    for name in claimed:
        yield name if resumes or name != CHECKPOINT.id else MODEL_FILE.id


def _likeliest(raised: Raised, crashed: str, least: float) -> Iterator[str]:
    """The cause that an exception, or else what is around it, comes near to, if it says more than that a program
    `crashed`, with at least this lead. Without a kind, the line is a frame of a traceback that was cut off."""
    least = max(least, CLEAR) if raised.kind in ("", *OF_CODE) else least
    for text in (message_of(raised.line.text) if raised.kind else "", raised.context):
        found = nearest(told_in(text)) if text and not tells_a_name(text) else None
        if found is not None:
            if found.cause != crashed and not cause(found.cause).healthy and found.lead >= least:
                yield found.cause
            return


def reworded(symptom: str, text: str, crashed: str) -> str:
    """The cause of a line that has a subject of this symptom, unless its other words clearly speak of another one.
    UNPROVEN if it reads like a line without a cause. Words that settle what happened stand."""
    if is_warning(text) or _is_settled(symptom, text):
        return symptom
    odds = {name: share for share, name in shares(told_in(text))}
    own = odds.pop(symptom, 0.0) * SUBJECT
    best = max(odds, key=lambda name: odds[name], default=symptom)
    if odds.get(best, 0.0) <= max(own, LEAST):
        return symptom
    if best in (UNPROVEN, crashed):
        return best if odds[best] >= NOTHING else symptom
    return symptom if cause(best).healthy else best


def _is_settled(symptom: str, text: str) -> bool:
    told = readable(text)
    subjects = (claims().get(symptom), complaints().get(symptom))
    return any(one and one.settles and compiled(one.settles).search(told) for one in subjects)


PROGRAMS_MISTAKES = ("UnboundLocalError", "IndentationError", "TabError", "FileExistsError")
"""Exceptions that say nothing but that a program is wrong, whatever it was about."""

_OF_TYPES = re.compile(
    rf"TypeError: {OWN}|(?:got|received|but|found):? `?<class '"
    r"|: Sample larger than population|: (?:not enough|too many) values to unpack"
)
"""Messages of Python's own functions, and of checks of a value's type: a program passed something else."""

_OF_ACCOUNT = re.compile(
    r"^(?:openai|anthropic|groq|cohere|litellm|mistralai|google\.[\w.]{1,60}|gcsfs|azure\.[\w.]{1,60})\.(?:\w{1,40}\.){0,4}"
    r"(?:Authentication|PermissionDenied|RateLimit|BadRequest|NotFound|Forbidden|Unauthori[sz]ed|ResourceExhausted"
    r"|InvalidArgument|Http)Error\b"
)
"""A service of another company refused what a program asked of it: a crash, whatever it was."""

_OF_DATABASE = re.compile(
    r"^(?:pymysql|psycopg2?|sqlalchemy|mysql|MySQLdb|aiomysql|asyncpg|pymongo|redis|sqlite3)\.(?:\w{1,40}\.){0,4}\w{1,60}:"
)
"""A client of a database, which does not belong to a training."""

_OF_VALUES = re.compile(rf"\bvalidation errors? for (?!{OF_SETTINGS})")
"""pydantic refused a value of a program's own that does not belong to its settings."""

_OF_OTHERS = (_OF_TYPES, _OF_ACCOUNT, _OF_DATABASE, _OF_VALUES)

_OF_CALL = re.compile(r"TypeError: (?!__)([a-z_]\w{0,60})\(\) (?:takes|missing) ")


def _is_own_call(said: str, raised: Raised) -> bool:
    """Whether a program called its own function with other arguments: it calls it by its bare name, and no library is
    seen in the traceback."""
    called = _OF_CALL.search(said)
    if called is None or not raised.frames or not all(map(is_own_frame, raised.frames)):
        return False
    return re.search(rf"(?<![\w.]){called.group(1)}\(", raised.code) is not None


_OF_JOB = re.compile(r"(?i)(?<![a-z])(?:ranks?|gpus?|cuda|barrier|nccl|hccl|world[_ ]size)(?![a-z])")
"""With these words a user's own code speaks of the job's machines."""

ABSENT_PLUGIN = "libnccl-net.so"
"""NCCL has its own network and goes on without it."""


def by_words(seen: Evidence, crashed: str) -> Optional[Case]:
    """The case of the error near the end, or of any line of a short text, whose words say most."""
    if seen.ended_well or seen.is_document or (seen.count <= SHORT and seen.marks >= MARKS):
        return None
    found = [
        (one, place)
        for one, place in ((nearest(told_in(place[0].text)), place) for place in _different(_places(seen)))
        if one and ABSENT_PLUGIN not in place[0].text
        if one.lead >= PLAIN or not is_handled(place[0].text)
    ]
    if not found:
        return None
    told, (line, order, steps) = max(found, key=lambda pair: (pair[0].lead, -pair[1][1]))
    if cause(told.cause).healthy or (seen.count > SHORT and told.lead < OF_LONG_LOG):
        return None
    if told.cause == crashed and (seen.count > SHORT or seen.steps or told.lead < OF_CRASH):
        return None
    hit = Hit(told.cause, WORDS, line, order, seen.now(line), steps)
    return Case(told.cause, WORDS, (hit,), "likely", notes=(NOTE,))


_HINTS = re.compile(
    r"(?i)(?<![a-z])(?:not|no|non|un\w{2,20}|in\w{0,10}valid|differs?|different|too|only|never|without|instead|needs?"
    r"|must|than|outside|beyond|empty|zero|nan|inf|oom|out of|kill(?:s|ed)?|stop\w{0,4}|ends|ended|exit\w{0,6}|signal"
    r"|sig[a-z]{2,4}|code|status|reject\w{0,4}|stale|bad|wrong|poor|half|wait\w{0,3}|hang\w{0,3}|stuck|slow"
    r"|late|limit"
    r"|over\w{2,12}|under\w{2,12}|mis\w{2,12}|dis\w{2,14}|trip\w{0,4}|illegal|leak\w{0,3}|loop\w{0,3}|twice|gone|left"
    r"|lost|drop\w{0,4}|break\w{0,3}|broke\w{0,2}|cut|short|old(?:er)?|gives?|gave|got|throws?|raises?|returned|says"
    r"|assert\w{0,4}|xid|ecc)(?![a-z])"
)
"""Words of which nearly every report of a failure has one."""


def _may_report(text: str) -> bool:
    """Whether a line without a plain word of a failure may report one. Its cause must be clear, it must hint at a
    failure, and it must not come from a program that goes on."""
    if is_excused(text) or is_handled(text) or (text.isascii() and _HINTS.search(text, 0, 700) is None):
        return False
    found = nearest(text) if len(words(text)) >= MESSAGE_WORDS else None
    return found is not None and found.lead >= PLAIN


def _different(places: List[Tuple[Line, int, int]]) -> List[Tuple[Line, int, int]]:
    """At most MOST of them: of those that differ in digits alone the first, since ranks repeat each other's errors."""
    if len(places) <= MOST:
        return places
    found: Dict[str, Tuple[Line, int, int]] = {}
    for place in places:
        found.setdefault(place[0].text.translate(ALIKE_TEXT), place)
    return list(found.values())[:MOST]


def is_data(text: str) -> bool:
    """Whether a line is not a report of this job at all."""
    return is_source(text) or is_set_aside(text)


def _places(seen: Evidence) -> List[Tuple[Line, int, int]]:
    """(line, its number over all sources, the steps before it) of what may be the reason of the end."""
    streams = (*seen.ranks.values(), *seen.streams.values())
    heard = [one for one in near_the_end(streams, seen.count) if _NAMED.search(one.line.text) is None]
    found = [(one.line, one.order, one.steps) for one in heard if seen.later_steps(one) < LATER_STEPS]
    raised = quoted(seen)
    short = seen.count <= SHORT and not seen.steps
    stated = [told.raised for stream in streams for told in stream.stated]
    raised += [one for one in stated if short or one.order == seen.title]
    if seen.count <= ALONE and seen.steps <= 1:
        plain = [stream.last_plain for stream in streams if stream.last_plain is not None]
        found += [(line, seen.count, 0) for line in plain if _may_report(line.text)]
    found += [(one.line, one.order, one.steps) for one in raised if not seen.survived(one)]
    ends = {id(one.line) for one in seen.exits}  # what the end of a process proves is judged elsewhere
    return [
        place
        for place in found
        if id(place[0]) not in ends and not is_warning(place[0].text) and not is_data(place[0].text)
    ]
