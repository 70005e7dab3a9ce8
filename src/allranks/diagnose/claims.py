"""Which cause an exception belongs to if no pattern knows its text: by the code that raised it, or by its subject.

A library refuses what it cannot do in many words, but in few places and about few subjects. A symptom's file may
declare `CLAIM`: the places, and the subjects of complaints. The first exception of a log is offered to all claims if
nothing else explains it. A place proves more than a subject, and a claim on a special subject more than a general one.
Without a traceback, the module of the exception's class is the place (`jinja2.exceptions.TemplateError`).
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from allranks.diagnose.chinese import in_english

CHINESE = (
    "|\u4e3a\u7a7a|\u6ca1\u6709?|\u4e0d\u5168|\u635f\u574f|\u62a5\u9519|\u9519\u8bef|\u5931\u8d25"
    "|\u5f02\u5e38|\u65e0\u6cd5|\u4e0d\u652f\u6301|\u4e0d\u80fd"
    "|\u627e\u4e0d\u5230|\u7f3a\u5c11|\u4e0d\u5b58\u5728|\u4e0d\u517c\u5bb9|\u672a\u5b89\u88c5"
    "|\u68c0\u6d4b\u4e0d\u5230|\u672a\u68c0\u6d4b|\u8bc6\u522b\u4e0d\u5230"
    "|\u88ab\u5360\u7528|\u4e0d\u5728\u540c\u4e00"
)
"""Words for an error, a failure, what cannot be done, is not supported, found or there."""

COMPLAINS = re.compile(
    r"(?i)\b(?:must|should|cannot|can ?not|can't|could not|couldn't|can only|does ?n(?:ot|'t)|do not|did not"
    r"|don't"
    r"|is not|not in|isn't|are not|aren't|was not|wasn't|were not|has not|have not|no longer|has no|have no"
    r"|(?:has|have) to|is none"
    r"|not (?:yet )?(?:be )?(?:supported|allowed|compatible|implemented|available|found|recogni[sz]ed|valid"
    r"|set|exist|updated|trained|loaded|saved"
    r"|enough|specified|defined|installed|initiali[sz]ed|provided|given|permitted|equal|possible)"
    r"|unsupported|incompatible|requires?|required|needs?|only|internal|missing|invalid|unknown|undefined"
    r"|unrecogni[sz]ed|unexpected|illegal|wrong|incorrect|inconsisten\w{1,5}|insufficient|malformed"
    r"|corrupt\w{0,3}"
    r"|restricted|refus(?:es?|ed|ing)|denied|forbidden|disallowed|deprecated|duplicate[sd]?|out of range"
    r"|exceeds?"
    r"|differs?|expect(?:s|ed)?|please|make sure|mismatch(?:e[sd])?|mismatched|error|fail(?:ed|s|ing|ure)"
    r"|crash(?:e[sd])?|occur(?:s|red)?|nans?|block(?:s|ed)?|prevent(?:s|ed)?|broken|different"
    r"|overflow\w{0,4}|explod\w{1,3}|diverge[sd]?|(?:0"
    r"|zero) (?:samples|examples|rows|records)|ran out of|detected"
    r"|unable|misconfigur\w{1,24}"
    r"|no such|no (?:\S{1,60} ){1,4}(?:found|were|was|in|available|specified|provided|given|matche[sd])"
    r"|conflicts?|exclusive|neither|either|false"
    r"|both|(?:issues?|problems?|trouble) with|too (?:small|large|few|many|long|short)|at least|empty|already"
    r"|(?:larger|smaller|greater|less|longer|shorter|lower|higher|more|fewer|older|newer) than|no attribute"
    r"|but (?:\w{1,20} ){0,4}(?:is|are|was|were|got|found|has|have|only))\b" + CHINESE,
    re.ASCII,
)
"""Words of which each refusal has one. An exception without any may only carry a name or a value."""

_NEUTRAL = re.compile(
    r"/lib(?:64)?/python\d\.\d{1,2}/(?!site-packages|dist-packages|configparser|tomllib)|<frozen|<string>"
    r"|/(?:numpy|pandas|pyarrow|requests|urllib3|httpx|httpcore|aiohttp|fsspec|tqdm|dill|multiprocess"
    r"|typing_extensions"
    r"|fire|click|hydra/_internal)/|/hydra/(?:main|core/utils)\.py"
    r"|/torch/(?:nn/modules|_tensor|_ops|functional|autograd|utils/(?:_contextlib|_device)|amp|cuda/amp"
    r"|storage)"
)
"""Frames of code that works for any caller: the one above it says whose exception it is."""

_OF_KERNELS = re.compile(
    r"(?i)\bcould not run '[^']{1,120}' with arguments from the '"
    r"|\bnot (?:currently )?(?:implemented|supported) (?:for|on) the (?:mps|xpu|hpu|npu|mlu|musa|sdaa|ipu) "
    r"(?:device|backend)\b"
)
"""torch has no kernel for an operator on that device: a crash, whatever the operator is called."""

_OF_OBJECT = re.compile(r"AttributeError: '(?!NoneType)[\w.]{1,80}' object has no attribute '")

SAVES = re.compile(
    r"(?i) in _?(?:save|savetxt|savez(?:_compressed)?|savefig|imsave|imwrite|to_(?:csv|file|filename|file_map|parquet"
    r"|json|pickle|excel|hdf|disk|netcdf))\s{0,8}$"
    r"|\b(?:save|savetxt|savez|savefig|imsave|imwrite|makedirs|to_csv|to_parquet|to_pickle|to_json|to_excel)\("
    r"|\bopen\(.{1,200},\s{0,4}(?:mode=)?['\"][wax]b?\+?['\"]"
)
"""Frames and statements of a program that writes a file."""

_LINK = re.compile(
    r"\bhttps?://(?:[\w-]{1,40}\.){0,3}(?:github|githubusercontent|gitlab|gitee|stackoverflow|readthedocs"
    r"|pytorch|nvidia"
    r"|tensorflow|deepspeed)\.\w{2,4}/\S{1,400}"
)
"""The address of a page, whose words are not what a message is about."""

_BEFORE_PACKAGES = re.compile(r"^.{0,400}(?=/(?:site|dist)-packages/)")
"""The folder of an environment, whose name says nothing (`envs/vllm`)."""

_FRAME = re.compile(r'\s{0,8}File "([^"]{1,400})", line [\d?]{1,9}, in (\S{1,120})')
_WRAPPED = re.compile(r"(?:[\w.]{1,120}: ){1,3}(?=[\w.]{1,120}(?:Error|Exception): )")
OVERRIDES = "executing job with overrides: "
"""Hydra's words before all arguments of a job, which say nothing of what went wrong."""

_COMMAND = re.compile(
    r"(?i)\bfailed to run .{1,1000}?(?:, exception|: error|: exit code)(?=:)"
    rf"|(?<={OVERRIDES})\[.{{1,1000}}"
)
_CHOICES = re.compile(
    r"(?i)\b(?:(?:example|available|valid|supported|possible|allowed|known|existing) (?:choices|options"
    r"|values|types|names"
    r"|strategies|backends|keys)|choose from|choices(?: are|:)|(?:must|should) be (?:one of|either)"
    r"|expected one of)\b"
)
"""Behind these words comes a list of everything else that exists, which is not the subject."""

_LONGEST = 600
_KEY = re.compile(r"KeyError: '([^']{1,80})'$")
_SUBSCRIPT = re.compile(r"[\w.]{1,120}\[('[^']{1,80}'|\"[^\"]{1,80}\")\](?!\[)")
_LACKS = ("KeyError", "AttributeError: 'NoneType'", "TypeError: 'NoneType'")


_OF_CLASS = re.compile(r"((?:[a-z_]\w{0,60}\.){1,8})([A-Z]\w{0,80})(?::|\(|$)")
"""The class of an exception with its module."""


class Claim(NamedTuple):
    """`frame` is searched in `path in function` of the innermost frame that is not neutral; `subject` in a message that
    complains. `general`: any other claim on the subject wins. `broad`: its code serves many subjects, so that a claim
    of `settings`, whose subject says what was refused there, wins over the place. `code` is searched in the statement
    that did not find a key: the name of what was searched says what lacks it. `needs_message`: its code does so much
    that a traceback whose exception is cut off shows nothing. `settles`: words that say what happened
    (`X is not installed`), which win over all subjects that only say of what (`X`). `loose`: more subjects, for
    messages of libraries: a user's own code uses such words for anything."""

    frame: str = ""
    subject: str = ""
    general: bool = False
    broad: bool = False
    settings: bool = False
    code: str = ""
    settles: str = ""
    needs_message: bool = False
    loose: str = ""


compiled = lru_cache(maxsize=None)(partial(re.compile, flags=re.ASCII))
"""Few logs need the claims, so that their expressions are made when one does."""


def place_of(frames: Sequence[str]) -> Optional[str]:
    """`path in function` of the code that an exception belongs to; `frames` are lines of its traceback, the innermost
    last."""
    shown = [found for found in map(_FRAME.match, frames) if found is not None]
    places = [
        f"{_BEFORE_PACKAGES.sub('', found.group(1).replace(chr(92), '/'))} in {found.group(2)}"
        for found in reversed(shown)
    ]
    return next((place for place in places if _NEUTRAL.search(place) is None), None)


def place_of_class(text: str) -> Optional[str]:
    """The module of an exception's class, in the form of `place_of`; None if the line names no module."""
    named = _OF_CLASS.match(text)
    if named is None:
        return None
    return f"/{named.group(1).replace('.', '/')}__init__.py in {named.group(2)}"


def claimants(
    claims: Dict[str, Claim],
    text: str,
    frames: Sequence[str],
    context: str = "",
    code: str = "",
    is_own: bool = False,
) -> Iterator[str]:
    """The symptoms that an exception's line may belong to, the likeliest first. `context`: the words before it, or the
    next line of its message; `code`: the statement that raised it; `is_own`: whether that is the user's own."""
    message = readable(message_of(text))
    places = [place for place in (place_of(frames), place_of_class(message)) if place is not None]
    told = [name for name, one in claims.items() if not (one.needs_message and _is_frame(text))]
    if _OF_OBJECT.match(message) is not None:
        places = []  # where a program mistook one object for another says nothing
    placed = [
        name for name in told if claims[name].frame and any(map(compiled(claims[name].frame).search, places))
    ]
    yield from (name for name in placed if not (claims[name].general or claims[name].broad))
    yield from of_code(claims, text, code, frames)
    about = _about(claims, message, is_own)
    about = about or (_about(claims, context[:_LONGEST], is_own) if context else [])
    broad = [name for name in placed if claims[name].broad]
    yield from (name for _, _, name in about if not broad or claims[name].settings)
    yield from broad
    yield from (name for _, _, name in about)
    yield from (name for name in placed if claims[name].general)


_OF_STEP = re.compile(
    r" in (?:forward|backward|compute_\w{0,20}loss|(?:\w{0,12}_)?(?:training|train|validation|valid|val|test|eval"
    r"|predict|shared)_(?:step|epoch)|(?:_inner_)?training_loop|evaluate|train|visuali[sz]e\w{0,30}|plot\w{0,30}"
    r"|log_\w{0,30})$"
)
"""Code that uses a batch which other code of the program put together."""


def of_code(claims: Dict[str, Claim], text: str, code: str, frames: Sequence[str] = ()) -> Iterator[str]:
    """The symptoms of what the statement `code` searched, if the exception `text` says that it lacks something. The
    exception itself may be cut off."""
    if code and _OF_STEP.search(place_of(frames) or ""):
        return
    if code and (message_of(text).startswith(_LACKS) or _FRAME.match(text)):
        searched = _searched(message_of(text), code)
        yield from (name for name, one in claims.items() if one.code and compiled(one.code).search(searched))


def _searched(message: str, code: str) -> str:
    """The statement without its look-ups that succeeded, if the message names the key that was missing."""
    named = _KEY.match(message)
    key = named.group(1) if named is not None else ""
    if not key or (f"['{key}']" not in code and f'["{key}"]' not in code):
        return code
    return _SUBSCRIPT.sub(lambda found: found.group() if found.group(1)[1:-1] == key else "", code)


def _is_frame(text: str) -> bool:
    """Whether a traceback ends here, with a frame or a part of one."""
    return _FRAME.match(text) is not None or text.lstrip().startswith("Traceback")


def of_several_words(claims: Dict[str, Claim], name: str, message: str) -> bool:
    """Whether this symptom's subject looks for several words of the message, and takes none."""
    subject = claims[name].subject if name in claims else ""
    match = compiled(subject).search(message) if subject else None
    return match is not None and not match.group()


def message_of(text: str) -> str:
    """The message of an exception without those that wrap it, and without the command line that a launcher repeats
    before it says what went wrong."""
    return _COMMAND.sub("", _WRAPPED.sub("", text[:_LONGEST], count=1), count=1)


_UNDEFINED = re.compile(r"\bname '\w{1,80}' is not defined")
"""A program's mistake, whatever the name says."""


def readable(text: str) -> str:
    """The text without the addresses of pages that explain something and without names that a program did not define,
    and with its Chinese words of errors in English."""
    text = _UNDEFINED.sub("a name is not defined", text) if "' is not defined" in text else text
    return in_english(_LINK.sub("", text) if "://" in text else text)


def tells_a_name(message: str) -> bool:
    """Whether most words of a message are a path's or a variable's, which say nothing of the failure's subject."""
    return "[Errno " in message or message.startswith("NameError: name '")


def _about(claims: Dict[str, Claim], message: str, is_own: bool) -> List[Tuple[bool, int, str]]:
    """The claims on the subject of a complaint, the special ones and the first subject first. An expression that looks
    for several words of a line, and takes none, says more than one that finds a word."""
    found: List[Tuple[bool, int, str]] = []
    if tells_a_name(message) or _OF_KERNELS.search(message) is not None:
        return found
    if COMPLAINS.search(message) is not None:
        choices = _CHOICES.search(message)
        short = message if choices is None else message[: choices.start()]
        for name, one in claims.items():
            told = message if one.general else short
            sure = compiled(one.settles).search(told) if one.settles else None
            subjects = (one.subject,) if is_own else (one.subject, one.loose)
            matches = [
                m for m in (compiled(words).search(told) for words in subjects if words) if m is not None
            ]
            if sure is not None:
                found.append((one.general, sure.start() - _LONGEST, name))
            elif matches:
                found.append((one.general, min(m.start() if m.group() else -1 for m in matches), name))
    return sorted(found)
