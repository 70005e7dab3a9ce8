"""The training's arguments or its configuration are wrong.

## How it is found
argparse's `error: unrecognized arguments`, `error: the following arguments are required`, `invalid
choice`, `Some specified arguments are not used by the HfArgumentParser`, `Some keys are not used by the
HfArgumentParser`, Hydra's `Could not override`, `ConfigAttributeError`, pydantic's `validation error
for`.

Easily confused with launch-args-mismatch, where nodes were started differently; deepspeed-config-mismatch.

## Why it matters
The program, or a library that it calls, refused a setting, mostly before any training. In a job of several nodes the
others then waited for it.

## What to do
Correct the option that the line names. Options move between versions: compare with `--help` of the
version that is installed on the nodes.

## Source
CPython 3.11 prints `unrecognized arguments` and `the following arguments are required` in `argparse.py`.
transformers 5.6.0 raises `not used by the HfArgumentParser` in `hf_argparser.py`. OmegaConf 2.4.0 defines
`ConfigKeyError` and `ConfigAttributeError` in `errors.py`. click prints `Missing option` and `No such
option` in `exceptions.py`. The other texts are as people posted them in public reports.

Topic: settings
"""

from __future__ import annotations

from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import CRASH, ECHO, WEAK, Case, Hit, Pattern

CAUSE = Cause(__name__)
OF_SETTINGS = (
    r"\w{0,60}?(?:Conf(?:ig(?:uration)?)?|Settings?|Args|Arguments?|Param(?:eter)?s?|Options?|CLI|Command|Spec|Schema|H[Pp]arams"
    r"|Plugin|Engine|Trainer|(?:^|\b|_)(?:conf|config|settings|args|params|options|hparams))(?![a-z])"
)
"""The names that programs give to their classes of settings."""
_REFUSES = (
    r"^(?:\w{1,60}\.){0,8}(?:Value|Assertion|NotImplemented|\w{0,40}(?:Config|Argument|Validation)\w{0,20})"
    r"?(?:Error|Exception): (?!.{0,300}\b(?:tensors?|shapes?|dtypes?|dims?|dimensions?|numel|targets?)\b).{0,300}"
)
CLAIM = Claim(
    frame=(
        r"^(?!.{0,300}/(?:lightgbm|sklearn|xgboost|catboost|scipy)/).{0,400} in "  # which check data
        r"(?:__post_init__|_{0,2}(?:validate|check|verify|parse)_?(?!\w{0,20}(?:response|result|output|reply))\w{0,60})$|/(?:argparse"
        r"|hf_argparser|training_args\w{0,20}|arguments|parser)\.py in|/(?:omegaconf|hydra|pydantic"
        r"|pydantic_core|jsonargparse|yaml|yacs|tomli?|tomlkit|absl|click|fire|typer|tyro|ml_collections)/"
        r"|/(?:configparser|tomllib/_parser)\.py in|/\w{0,30}(?:args|config|schema"
        r"|hparams)\w{0,20}(?:/\w{1,40})?\.py in"
    ),
    subject=(
        r"(?i:^(?:[\w.]{1,60})?error: [`'\"]?[\w.-]{2,60}[`'\"]? (?:is|are|was) (?:required|mandatory"
        r"|not (?:set|specified|given|provided))\b"
        r"|\bconfig(?:uration)? files?\b|\b(?:toml|ya?ml)\b|\bextra keys not allowed\b"
        r"|\badditional properties are not allowed\b"
        r"|\b(?:unknown|unrecogni[sz]ed|unexpected|unused|remaining|extra|unsupported"
        r"|deprecated) ?(?:\w{1,20} )?_?"
        r"(?:args?|argv|arguments?|options?|flags?|hyper-?parameters?)\b|\b(?:invalid"
        r"|missing) (?:\w{1,20} )?(?:options?"
        r"|flags?|arguments?):? ['\"`-]"
        r"|\b(?:unkn?own|unsupported|invalid|unrecogni[sz]ed|illegal) (?:[\w-]{1,30} ){1,4}.{0,200}(?:(?:must"
        r"|should) be"
        r" (?:one of|in)|choose|choices|(?:is|are) (?:supported|available)|available:|supported:"
        r"|expected one of|valid"
        r" (?:values|options|choices))"
        r"|\b(?:must|should) be (?:one of|either|set|specified|provided|passed|positive|non-negative|between"
        r"|in \[)"
        r"|\bplease (?:set|specify|provide|pass|choose|use|remove|disable|enable)\b|\b(?:at least|exactly"
        r"|only) one of\b"
        r"|\bmutually exclusive|\bare both\b|\bboth .{1,80} (?:are|is|were) (?:set|given|specified|provided)"
        r"|\bnot both\b"
        r"|already exists.{0,80}overwrite|overwrite.{0,60}\bfalse\b)"
        r"|(?i:\b(?:unkn?own|unsupported|unrecogni[sz]ed|invalid) (?:\w{1,20} ){0,3}(?:loss|optim\w{0,6}"
        r"|schedul\w{1,4}|backends?"
        r"|precision|polic(?:y|ies)|strateg(?:y|ies)|modes?|tasks?|stages?|algorithms?|methods?|levels?"
        r"|presets?|trainers?"
        r"|rewards?|estimators?|aggregation|options?|choices?|divergence)\b)"
        r"|^(?:\w{1,60}\.){0,8}(?:Value|Assertion|NotImplemented)?Error: (?!.{0,300}\b(?:tensors?|shapes?"
        r"|dtypes?|dims?|dimensions?"
        r"|numel|targets?|gradients?|batch size)\b).{0,300}(?i:\b(?:cannot|can't|can not|should not"
        r"|must not) (?:\w{1,12} )?be (?:used|combined"
        r"|enabled|specified|set|passed|mixed)\b|\b(?:in|not )compatible with\b|\bconflicts? with\b|\b(?:only"
        r"|not) (?:valid|supported|available"
        r"|allowed|meaningful|enabled) (?:with|for|when|if|in|by|on|yet)\b|\bonly (?:supports?|accepts?"
        r"|works?)\b|\b(?:does|do) ?(?:not|n't)"
        r" (?:yet |currently )?(?:support|allow|accept|work with)\b|\b(?:is|are) (?:not|n't) (?:yet "
        r"|currently )?(?:supported|allowed)\b"
        r"|\bnot supported (?:yet|for|with|in|by|on)\b|\bno longer supported\b|\bhas been (?:deprecated"
        r"|removed)\b)"
        r"|^.{0,200}(?<![\w-])--[a-z][a-z-]{2,60}(?![\w/.])"
        r"|^(?:\w{1,60}\.){0,8}\w{0,20}(?:onfiguration|Argument|Validation)(?:Error|Exception):"
        r"|\bMisconfigurationException\b|"
        rf"{_REFUSES}(?:(?<![\w-])--[a-z][\w-]{{2,60}}"
        r"|(?i:\b(?:argument|option|config(?:uration)?(?!\.json)|setting|flag|strategy|accelerator|optimizer"
        r"|scheduler)s?\b))"
    ),
    loose=rf"{_REFUSES}(?:`\w{{3,60}}`|\b[a-z][a-z0-9]{{1,30}}_[a-z0-9_]{{2,60}}\b|\b\w{{3,60}}=\w)",
    general=True,
    code=(
        r"(?i)(?:cfg|conf|config\w{0,10}|(?<!kw)args|opts?|options?|hparams?|hyper\w{0,12}|params|settings?"
        r"|parser|flags)\d?"
        r"(?:\[|\.pop\(|\])|\bparse_(?:known_)?args\w{0,30}\(|\bOmegaConf\.\w{1,20}\(|\byaml\.\w{0,5}load\("
        r"|\bmerge_from_\w{1,10}\("
    ),
)
PATTERNS = (
    Pattern("Cannot find primary config", weight=92),  # Hydra
    Pattern(
        "command not found", r"(?<!\S)--?\w[\w-]{0,60}: command not found", weight=WEAK
    ),  # the shell took the rest of a command for the next one: a backslash or a blank is wrong
    Pattern("unknown args, potentially", weight=WEAK),  # LLaMA-Factory
    Pattern("remaining_argv: [", weight=94),  # ms-swift
    Pattern("error: unrecognized arguments"),
    Pattern("error: the following arguments are required"),
    Pattern("error: argument", r"error: argument \S{1,80}: (?:invalid|expected|not allowed|ignored)"),
    Pattern("HfArgumentParser", r"not used by the HfArgumentParser"),
    Pattern("Could not override", weight=94),
    Pattern("existent config key", weight=94),  # yacs
    Pattern("ConfigAttributeError", raised=True, weight=94),
    Pattern("ConfigKeyError", raised=True, weight=94),
    Pattern(
        "validation error",
        rf"(?:^|ValidationError: )\d{{1,3}} validation errors? for (?!DeepSpeed){OF_SETTINGS}",
        weight=80,
    ),
    Pattern("for help", r"^Try '.{1,200} (?:--help|-h)' for help", weight=94),  # click
    Pattern("Missing option", r"(?:Error|error): Missing option", weight=94),
    Pattern("extra keys not allowed", weight=88),  # voluptuous
    Pattern("No action for destination key", weight=90),  # jsonargparse
    *(
        Pattern(text, weight=90)  # Hydra's grammar of overrides
        for text in (
            "missing EQUAL at",
            "viable alternative at input",
            "token recognition error at",
            "extraneous input",
        )
    ),
    Pattern("TomlDecodeError", weight=88),
    Pattern(
        "object has no attribute",
        r"'(?:Simple)?(?:Namespace|ConfigDict|EasyDict|AttrDict|AttributeDict|CfgNode|DictConfig|Munch|Box"
        r"|FlagValues|edict)'"
        r" object has no attribute",
        weight=CRASH + 8,
        raised=True,
    ),
    Pattern("registry", r"is not in the \S{1,60} registry", weight=CRASH + 8, raised=True),  # MMEngine
    Pattern("No configurable matching", weight=CRASH + 8, raised=True),  # gin
    Pattern(
        "No such file or directory",
        r"directory: b?['\"][^'\"]{1,300}\.(?:ya?ml|cfg|ini|toml|gin|conf|args)['\"]",
        weight=CRASH + 8,
        raised=True,
    ),
    Pattern("TOMLDecodeError", weight=88),
    Pattern("yaml", r"^yaml\.\w{1,20}\.\w{1,40}Error", weight=88),
    Pattern("No such option", r"(?:Error|error): No such option", weight=94),
)
USAGE = 2
"""The exit code of argparse, click and Python itself if they do not understand their arguments."""


def judge(seen: Evidence) -> Optional[Case]:
    """Also: all processes end with that exit code before a step, and no line gives a reason."""
    case = seen.case("wrong-arguments")
    failed = [e for e in seen.exits if e.code not in (0, -15)]
    if case is not None or seen.steps or not failed or any(e.code != USAGE for e in failed):
        return case
    hits = tuple(Hit("wrong-arguments", ECHO - 6, e.line, e.order, e.at, 0) for e in failed[:4])
    why = (
        f"Exit code {USAGE} is how a program refuses its arguments, and Python a script that it cannot open."
    )
    return Case("wrong-arguments", ECHO - 6, hits, "likely", why=why)
