"""Lines with which programs close: they say that something is done, or that it failed. If that is the job, hardly a
line follows."""

from __future__ import annotations

import re
from typing import Any, Callable, Tuple

from allranks.diagnose.counting import is_logged
from allranks.diagnose.lines import Line
from allranks.diagnose.set_aside import is_set_aside
from allranks.diagnose.store import Store
from allranks.diagnose.symptom import Pattern

_ALONE = (
    r"^\W{0,80}(?:(?:ALL|All|all)\W{1,3})?(?:DONE|Done|done|FINISHED|Finished|COMPLETED?|Completed?)\W{0,80}$"
)
_OF_JOB = (
    r"(?i)(?:^|[^\w])(?:train(?:ing)?|fine-?tun(?:e|ing)|eval(?:uation)?|test(?:s|ing)?|inference|prediction|generation"
    r"|benchmark|experiments?|script|job|run|pipeline|(?:pre-?)?processing|tokeni[sz]ation|extraction|conversion"
    r"|[\w-]{1,80}\.(?:sh|py)(?![:\])]))\b"
    r"(?!.{0,60}\b(?:not|soon|will|un)\b)(?:(?!\b(?:epoch|step|iter|stage|phase|batch|fold)).){0,60}"
    r"\b(?:completed?|finished|succeeded|ended (?:normally|successfully))\b"
    r"(?!.{0,60}(?<!\d )\b(?:epochs?|steps?|iter\w{0,7}|stages?|phase|batch\w{0,2}|fold)\b)"
)
"""Of the job, not of a step or an epoch of it; but `training finished: 150 steps`."""
_OF_PART = (
    r"\b(?:[Rr]ank|[Ww]orker|[Pp]roc(?:ess)?|[Nn]ode)[ _:#-]{0,2}\d{1,6}\W{1,3}(?:has |is |was )?"
    r"(?:finished|completed|done)(?: (?:all )?\d{1,9} \w{2,12})?\W{0,8}$"
    r"|\b[Ff]inished (?:all )?\d{1,9} (?:steps|iterations|iters|epochs|updates|batches)\b"
)
"""A rank says it, which no shell does."""
_RETURNED = (
    r"(?i)(?<![a-z])(?:returned|(?:exit(?:ed|s)?|end(?:ed|s)|finished)(?: with)?[ ,_-]{1,2}(?:status|codes?)"
    r"|exited with|return[ _-]?code|rc)\W{1,4}0\b(?=\W{0,4}$|[,;)\]}]| after )"
    r"(?!.{0,40}(?:(?<!\d )\bre-?start|\bretry|\bagain\b))"
)
"""Of a program that a wrapper started."""
_FAREWELL = r"\b(?:[Gg]ood)?[Bb]ye\b\W{0,8}$"
_EARLY = r"(?i)\bearly[ -]?stopp(?:ing|ed)\b(?!.{0,60}(?:patience|count|callback|disabled|enabled|=))"
"""As it was configured."""
_AT_LAST = (
    r"(?i)\b(?:finished|completed|succeeded|done) (?:after \d{1,4} (?:attempts?|tries|restarts?|runs?)"
    r"|on attempt \d)\b"
)
_BEST = (
    r"(?i)^\W{0,8}(?:\[?[\w-]{1,20}\]? )?best (?:trial|run|config\w{0,8}|candidate|combination|setting)\b"
    r"(?:\W{1,3}| is | \w{1,12} )"
    r"{0,3}\d(?!.{0,200}\b(?:not|none|skipped)\b)"
    r"|\b\d{1,6} (?:completed|usable|ok)\b.{0,40}\bbest (?:trial|run|config)\b.{1,20}\d"
    r"|\b\d{1,6} (?:of \d{1,6} )?(?:trials|runs|configs|configurations|experiments)\b.{0,80}\bbest\b.{1,40}\d"
)
"""Of a sweep, some trials of which may have failed."""
_OK = (
    r"(?i)^(?:[\w.-]{1,30}(?:\[\d{1,9}\])?:)?\W{0,8}(?:\d{1,2}:\d\d:\d\d\W{1,4})?"
    r"(?:pipeline|job|workflow|everything|all (?:\w{2,12} )?(?:stages|jobs|parts|tasks))\b.{0,30}"
    r"\b(?:ok|passed|green|fine|through|done|complete)\W{0,8}$"
)
_ENDED_ABROAD = (
    r"(?i)^(?:\W{0,8}(?:termin\u00e9e?s?|fini|fertig|terminado|completado|finalizado)\b"
    r"|.{0,80}\b(?:training|lauf|entra[i\u00ee]nement|entrenamiento|auswertung)\b.{0,60}"
    r"\b(?:fertig|abgeschlossen|beendet|termin\u00e9e?|terminado|completado)\b)"
)
_WRITTEN = (
    r"(?i)^(?!.{0,200}\b(?:logs?|dump|core|debug|trace|crash|errors?|partial|checkpoints?|will|to be|every|best"
    r"|epoch|step)\b).{0,160}"
    r"\b(?:results?|scores?|metrics|predictions?|reports?|summary|outputs?|model|weights|adapter|embeddings|runs)\b"
    r".{0,80}?\b(?:written|saved|exported)\b"
)
_WELL = r"(?i)\b(?:completed|finished|exits|exited|ended) successfully\b"
CLOSING = (
    ("done", _ALONE), ("Done", _ALONE), ("DONE", _ALONE), ("finished", _ALONE), ("Finished", _ALONE),
    ("FINISHED", _ALONE), ("complete", _ALONE), ("Complete", _ALONE), ("COMPLETE", _ALONE), ("completed", _ALONE),
    ("Completed", _ALONE), ("COMPLETED", _ALONE),
    ("completed", _OF_JOB), ("complete", _OF_JOB), ("finished", _OF_JOB), ("COMPLETED", _OF_JOB), ("Complete", _OF_JOB),
    ("Completed", _OF_JOB), ("Finished", _OF_JOB),
    ("complete!", _OF_JOB), ("FINISHED", _OF_JOB), ("COMPLETE", _OF_JOB), ("succeeded", _OF_JOB),
    ("successfully", _WELL), ("Successfully", _WELL),
    ("execution time", r"(?i)^\W{0,8}total execution time\b.{0,20}\d"),
    ("FINAL SUMMARY", r"^\W{0,80}FINAL SUMMARY\W{0,80}$"),
    ("Finished server process", r"Finished server process \[\d"),
    ("Application shutdown complete", None),
    ("End of training", None), ("end of training", None),
    ("Finished training", r"Finished training(?! (?:epoch|step|iter|stage))"),
    ("Training time", r"\bTraining time:? {0,4}\d{1,4}[:.]\d"),
    ("Total training time", r"\bTotal training time\b"),
    ("Results saved", r"^\W{0,8}Results saved\b"),
    (" log ", r"(?i)\b(?:full|final|complete) (?:run )?log (?:has been |was )?(?:saved|written)\b"),
    ("BUILD SUCCESS", r"\bBUILD SUCCESS\b"), ("BUILD SUCCESSFUL", None),
)  # fmt: skip
"""(text, expression) pairs."""

WEAK = (
    *((word, _OF_PART) for word in ("finished", "Finished", "completed", "done")),
    *((word, _RETURNED) for word in ("returned", "status", "code", "exit", "exited with", "returncode")),
    *((word, _EARLY) for word in ("early", "Early", "stopping", "EarlyStopping", "earlystopping")),
    *((word, _FAREWELL) for word in ("bye", "Bye", "goodbye", "Goodbye")),
    *((word, _AT_LAST) for word in ("finished", "completed", "succeeded", "done")),
    *(
        (word, _OK)
        for word in (
            "pipeline",
            "Pipeline",
            "PIPELINE",
            "job",
            "JOB",
            "workflow",
            "everything",
            "stages",
            "STAGES",
        )
    ),
    *(
        (word, _ENDED_ABROAD)
        for word in (
            "termin",
            "Termin",
            "fertig",
            "Fertig",
            "abgeschlossen",
            "beendet",
            "terminado",
            "Terminado",
            "completado",
        )
    ),
    *((word, _WRITTEN) for word in ("written", "saved", "exported")),
)
"""Lines that do not show by themselves that the whole job is done."""

IN_CHINESE = re.compile(
    "(?:训练|全部|所有)(?:完成|结束|完毕)[，,](?!.{0,12}(?:开始|继续|进入|等待|正在|准备|下一))|(?:训练|评估|测试|推理|验证|预测|微调|全部|所有|任务|运行|脚本)\\S{0,6}(?:完成|结束|完毕)\\W{0,8}(?:$|[|｜])"
)
_LONGEST = 80
"""Characters of such a line in Chinese."""


_LOGGED = re.compile(r"\bINFO\b(?!:  ).{0,400}\b(?i:success(?:fully)?|succeeded)\b")
"""A logger's level and a success. uvicorn, which a failed server shuts down too, puts spaces behind its own level."""


_SUCCESS = re.compile(r"(?i)\bsucce(?:ss(?:ful(?:ly)?)?|eded)\b")


_FAILED_WITH = re.compile(r"(?i)\bexit(?:ed|s)?(?: with)?[ _-](?:code|status)\W{0,4}[1-9]")


def stops_early(text: str) -> bool:
    """Whether a program says that it stops early because it no longer gets better."""
    return re.search(_EARLY, text) is not None


def ends_well(text: str) -> bool:
    """Whether a wrapper says so of the program that it started, perhaps after some attempts, or a program at its own
    end."""
    return any(re.search(said, text) is not None for said in (_RETURNED, _AT_LAST, _FAREWELL))


def _closes(seen: Store, line: Line, match: Any) -> None:
    if is_set_aside(line.text) or _FAILED_WITH.search(line.text):
        return  # such as a debug line, which a program also prints if it failed
    source = seen.sources[line.source]
    source.closing, source.logged = seen.count, _LOGGED.search(line.text) is not None
    source.closed_at_once = is_logged(line)
    source.succeeded = _SUCCESS.search(line.text) is not None


_RECOVERED = re.compile(
    r"(?i)^(?:[\w.\[\]-]{1,30}: )?(?:the )?(?:command|job|run|training|script|program|process|launch)\b.{0,40}"
    r"\b(?:finished|completed|succeeded|done)"
    r" (?:after [1-9]\d{0,3} (?:restarts?|(?:failed )?(?:attempts?|tries))(?:\b|\(s\))"
    r"|on attempt [2-9]\b)"
)
"""A wrapper says that its program succeeded when it was started again."""


def _closes_a_part(seen: Store, line: Line, match: Any) -> None:
    if not is_set_aside(line.text):
        source = seen.sources[line.source]
        source.weak_closing = seen.count
        source.returned = seen.count if ends_well(line.text) else source.returned
        source.recovered = seen.count if _RECOVERED.match(line.text) else source.recovered


def _names_best(seen: Store, line: Line, match: Any) -> None:
    if not is_set_aside(line.text):
        _closes_a_part(seen, line, match)
        seen.sources[line.source].best = seen.count


_FAILS = re.compile(
    r"(?i)\b(?:failed|fails|failure|fatal|crash(?:ed|es)|panic(?:ked)?|went wrong|severe|non-zero"
    r"|terminate called|core dumped)\b"
    r"|(?<![-_/.])\b(?:error|exception)\b(?![-_/.\w])"
)
_MEASURED = re.compile(
    r"(?i)\b(?!(?-i:Error) \d{1,3}$)(?:failed|failures?|errors?|exceptions?)\b\W{0,6}\d"  # but not how make ends
    r"|(?:^|[\s(:=])\d{1,9} (?:\w{1,20} )?(?:failed|failures?|errors?|exceptions?)\b"
    r"|\b0 ?(?:/|of) ?\d{1,9} (?:\w{1,20} )?(?:failed|failures?|errors?)\b"
    r"|\b(?:no|without|zero) (?:\w{1,20} )?(?:failures?|errors?|exceptions?)\b"
    r"|\berror (?:rates?|bars?|margins?|analysis|logs?|counts?|handling|messages?)\b"
    r"|\berror (?:cases?|examples?|samples?|types?|reports?|summar(?:y|ies))\b(?!:)"
    r"|(?-i::\s{1,9}-?\d{1,9}\.\d{1,20}\W{1,8}FAILED$)"
    r"|\b(?:mean|squared|abs(?:olute)?|percentage|relative|average|rms|root|test|train\w{0,3}|val\w{0,7}|median|max\w{0,4}"
    r"|word|character|approximation|reconstruction|prediction|standard|std) errors?\b"
)
"""Numbers of failures, and errors that are measured."""


_SOME_FAILED = re.compile(
    r"(?i)\b[1-9]\d{0,6} ?(?:/|of) ?\d{1,7} (?:\w{1,20} )?"
    r"(?:ranks?|workers?|process(?:es)?|nodes?|jobs?|tasks?|parts?|stages?)"
    r" (?:have |had |were )?(?:failed|crashed|died)\b"
)


def says_failed(text: str, logged: bool) -> bool:
    """Whether a statement that something failed is about the program. `logged`: a logger wrote it as an error."""
    return (logged or _FAILS.search(text) is not None) and not is_measured(text)


def is_measured(text: str) -> bool:
    """Whether a line tells a number of failures, or an error that is measured, and not that parts of the job failed."""
    return _MEASURED.search(text) is not None and _SOME_FAILED.search(text) is None


class AtTerminal:
    """Ctrl-C, as a terminal shows it. It has no word to look lines up by."""

    _SHOWN = re.compile(r"\^C$|^\^C(?= )")

    def find(self, text: str) -> "re.Match[str] | None":
        return self._SHOWN.search(text) if text.startswith("^C") or text.endswith("^C") else None


def _is_stopped(seen: Store, line: Line, match: Any) -> None:
    seen.ctrl_c = (seen.count, line)


class InChinese:
    """The same in Chinese, which has no words to look lines up by."""

    def find(self, text: str) -> "re.Match[str] | None":
        return None if text.isascii() or len(text) > _LONGEST else IN_CHINESE.search(text)


def _opens(seen: Store, line: Line, match: Any) -> None:
    seen.sources[line.source].closing = seen.sources[line.source].stopping = 0


def _stops(seen: Store, line: Line, match: Any) -> None:
    seen.sources[line.source].stopping = seen.count


def told_to_end(signal: str) -> str:
    """An expression for a line in which a program says that this signal (`SIGINT`) told it to end."""
    return (
        rf"(?i)\b(?:caught|received?|got)\W{{1,3}}(?:(?:a|an|the|signal|shutdown)\W){{0,2}}{signal}\b"
        rf"|\b{signal} (?:signal )?(?:received|caught)\b|\u6536\u5230.{{0,4}}{signal}\b"
    )


def _is_told(seen: Store, line: Line, match: Any) -> None:
    seen.sources[line.source].told = seen.count


_ANSWERED = (
    r"\"[A-Z]{3,7} /(?!(?:health|healthz|metrics|ping|live|livez|ready|readyz|favicon\.ico|version|docs|v1/models"
    r"|openapi\.json)\b)\S{0,2000} HTTP/[\d.]{1,3}\" ([234])\d\d\b"
)
_OF_TORNADO = r"\] ([234])\d\d (?:GET|POST|PUT|PATCH|HEAD) /\S{0,2000} \("
"""A line of an access log. A server that cannot work may answer the other paths, too."""


def _answers(seen: Store, line: Line, match: Any) -> None:
    """4xx is the client's fault: the server answers, but does not show that it can work."""
    source = seen.sources[line.source]
    source.answered = seen.count
    source.served = seen.count if match.group(1) != "4" else source.served


FACTS: Tuple[Tuple[Pattern, Callable[[Store, Line, Any], None]], ...] = tuple(
    [(Pattern(text, expression), _closes) for text, expression in CLOSING]
    + [(Pattern(text, expression), _closes_a_part) for text, expression in WEAK]
    + [(Pattern(word, _BEST), _names_best) for word in ("best", "Best", "BEST")]
    + [
        (Pattern("Application startup complete"), _opens),
        (Pattern("Waiting for application shutdown"), _stops),
        (Pattern("HTTP", _ANSWERED), _answers),
        (Pattern("GET", _OF_TORNADO), _answers),
        (Pattern("POST", _OF_TORNADO), _answers),
    ]
    + [(Pattern(signal, told_to_end(signal)), _is_told) for signal in ("SIGINT", "SIGTERM")]
)
CHINESE: Tuple[InChinese, Callable[[Store, Line, Any], None]] = (InChinese(), _closes)
CTRL_C: Tuple[AtTerminal, Callable[[Store, Line, Any], None]] = (AtTerminal(), _is_stopped)
