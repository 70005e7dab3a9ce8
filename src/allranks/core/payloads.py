"""What an event or a message may hold: a class a kind, checked once, where it comes in.

A payload is written with the words of its class and read back by `decode`, which refuses what has another type. After
that its fields are attributes. What a newer version says beside them is passed over.
"""

from __future__ import annotations

import collections.abc
from dataclasses import MISSING
from typing import (
    TYPE_CHECKING,
    AbstractSet,
    Any,
    Callable,
    Dict,
    Mapping,
    NamedTuple,
    NewType,
    Tuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        return lambda found: found


Number = NewType("Number", float)
"""A float that may also be infinite or no number, as a loss may."""

WHOLE = (-(2**63), 2**63 - 1)
LIMITS = {"world_size": (0, 10_000_000), "rank": (0, 10_000_000), "pid": (0, 2**31)}
"""A whole number fits into 64 bits; a field of such a name is bounded closer."""

Check = Callable[[Any], Any]
Found = TypeVar("Found")


class Refused(ValueError):
    """A payload that is none: which field, and what stands in it."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Payload:
    """The fields are the annotations; one without a default must be there. Only what was given is written."""

    KIND = BY = ""

    def __init_subclass__(cls, kind: str = "", by: str = "") -> None:
        """`kind` is the event's, `by` who tells it; a part of another payload has neither."""
        cls.KIND, cls.BY = kind, by
        if kind:
            KINDS[kind] = cls

    def __init__(self, **given: Any) -> None:
        unknown = given.keys() - plan_of(type(self)).names
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        self.__dict__.update(given)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


KINDS: Dict[str, Any] = {}
"""The payload of each kind of event."""


def as_json(value: Any) -> Any:
    """A payload, or a part of one, as JSON has it."""
    if isinstance(value, Payload):
        return {name.rstrip("_"): as_json(part) for name, part in vars(value).items()}
    if isinstance(value, Mapping):
        return {str(name): as_json(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(part) for part in value]
    return value


def decode(kind: Callable[..., Found], value: Any) -> Found:
    """`value` as the payload (or dataclass) `kind`. Raises Refused."""
    if not isinstance(value, dict):
        raise Refused(f"{_shown(value)} is not an object")
    plan = plan_of(kind)
    given = {}
    for key, part in value.items():
        field = plan.fields.get(key)
        if field is None or (part is None and not field.takes_null):
            continue  # a newer version's word, an older one's null
        try:
            given[field.name] = None if part is None else field.check(part)
        except Refused as error:
            raise Refused(f"{key}: {error}") from None
    for name in plan.needed:
        if name not in given:
            raise Refused(f"{name} is missing")
    try:
        return kind(**given)
    except ValueError as error:
        raise Refused(str(error)) from None


class Field(NamedTuple):
    name: str
    check: Check
    takes_null: bool


class Plan(NamedTuple):
    """By the name in JSON (`from` is no name in Python: `from_`): each field; which must be there."""

    fields: Dict[str, Field]
    names: AbstractSet[str]
    needed: Tuple[str, ...]


_PLANS: Dict[Any, Plan] = {}


def plan_of(kind: Any) -> Plan:
    found = _PLANS.get(kind)
    if found is None:
        hints = get_type_hints(kind)
        fields = {}
        for name, hint in hints.items():
            parts = get_args(hint) if get_origin(hint) is Union else ()
            check = _check(parts[0] if parts else hint, name)
            fields[name.rstrip("_")] = Field(name, check, hint is Any or bool(parts))
        # A dataclass keeps only plain defaults on its class, a `field(...)` is for the dataclass alone.
        made = {
            f.name
            for f in getattr(kind, "__dataclass_fields__", {}).values()
            if f.default_factory is not MISSING
        }
        needed = tuple(name for name in hints if not hasattr(kind, name) and name not in made)
        found = _PLANS[kind] = Plan(fields, hints.keys(), needed)
    return found


def _shown(value: Any) -> str:
    return f"{value!r:.60}" if not isinstance(value, int) or abs(value) < 10**20 else "a huge number"


def _anything(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Refused(f"{_shown(value)} is not a text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refused(f"{_shown(value)} is neither true nor false")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or (type(value) is int and not WHOLE[0] <= value <= WHOLE[1]):
        raise Refused(f"{_shown(value)} is not a number")
    return float(value)


def _finite(value: Any) -> float:
    if type(value) is float and -1e300 < value < 1e300:
        return value
    if type(value) is not int or not WHOLE[0] <= value <= WHOLE[1]:
        raise Refused(f"{_shown(value)} is not a finite number")
    return float(value)


def _whole(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int or not low <= value <= high:
            bounds = "" if (low, high) == WHOLE else f" from {low} to {high}"
            raise Refused(f"{_shown(value)} is not a whole number{bounds}")
        return value

    return check


_PLAIN: Dict[Any, Check] = {Any: _anything, str: _text, bool: _flag, float: _finite, Number: _number}


def _check(hint: Any, name: str = "") -> Check:
    """What makes a value of this type of what came, or raises Refused."""
    if hint is int:
        return _whole(*LIMITS.get(name, WHOLE))
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Union:
        return _or_null(_check(parts[0], name))
    if origin is None:
        return _row(hint) if issubclass(hint, tuple) else lambda value: decode(hint, value)
    if issubclass(origin, collections.abc.Mapping):
        return _by_name(_check(parts[1]))
    return _list(_check(parts[0]))


def _or_null(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _list(check: Check) -> Check:
    def listed(value: Any) -> Tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise Refused(f"{_shown(value)} is not a list")
        return tuple([check(part) for part in value])

    return listed


def _by_name(check: Check) -> Check:
    def mapped(value: Any) -> Dict[str, Any]:
        if not isinstance(value, dict):
            raise Refused(f"{_shown(value)} is not an object")
        return {str(name): check(part) for name, part in value.items()}

    return mapped


def _row(kind: Any) -> Check:
    """A NamedTuple, which JSON has as a list; what an older version left out has its default."""
    checks = [_check(hint, name) for name, hint in get_type_hints(kind).items()]
    least = len(checks) - len(kind._field_defaults)

    def row(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) < least:
            raise Refused(f"{_shown(value)} is not a row of {len(checks)}")
        return kind(*[check(part) for check, part in zip(checks, value)])

    return row
