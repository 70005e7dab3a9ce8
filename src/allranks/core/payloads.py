"""The content of events and messages: one class per kind, checked once, on arrival.

A payload is written with the field names of its class. `decode` reads it back and refuses a value of another type;
after that, the fields are attributes. Fields that only a newer version knows are ignored. A reader that must not lose
a payload because of one wrong field asks `decode` to leave out wrong fields that are optional.
"""

from __future__ import annotations

import collections.abc
import reprlib
from dataclasses import MISSING, is_dataclass
from typing import (
    TYPE_CHECKING,
    AbstractSet,
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    NamedTuple,
    NewType,
    Optional,
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

Odd = Optional[List[str]]
"""Takes what is wrong with each field that was left out; None if nothing may be left out."""

Check = Callable[[Any, Odd], Any]
Found = TypeVar("Found")


ODD_KEPT = 8
"""The most wrong parts of one field that are reported."""


class Refused(ValueError):
    """The data is not a payload: which field is wrong, and its value."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Payload:
    """The fields are the annotations; one without a default must be there. Only what was given is written."""

    KIND = BY = ""
    WHOLE = False

    def __init_subclass__(cls, kind: str = "", by: str = "", whole: bool = False) -> None:
        """`kind` is the event's, `by` who tells it; a part of another payload has neither. One that counts as a
        `whole` is compared with others': with a field left out it would differ, so a wrong field refuses it."""
        cls.KIND, cls.BY, cls.WHOLE = kind, by, whole
        if kind:
            KINDS[kind] = cls

    def __init__(self, **given: Any) -> None:
        unknown = given.keys() - plan_of(type(self)).names
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        self.__dict__.update(given)

    def has(self, *names: str) -> bool:
        """Whether all these fields were given, also as null."""
        return all(name in vars(self) for name in names)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


KINDS: Dict[str, Any] = {}
"""The payload of each kind of event."""


def as_json(value: Any) -> Any:
    """A payload, or a part of one, as JSON has it."""
    if isinstance(value, Payload) or is_dataclass(value):
        return {name.rstrip("_"): as_json(part) for name, part in vars(value).items()}
    if isinstance(value, Mapping):
        return {str(name): as_json(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(part) for part in value]
    return value


def decode(kind: Callable[..., Found], value: Any, odd: Odd = None) -> Found:
    """`value` as the payload (or dataclass) `kind`. Raises Refused; with `odd` only for a field that must be there."""
    if not isinstance(value, dict):
        raise Refused(f"{_shown(value)} is not an object")
    plan = plan_of(kind)
    odd = None if getattr(kind, "WHOLE", False) else odd
    given = {}
    for key, part in value.items():
        field = plan.fields.get(key)
        if field is None or (part is None and not field.takes_null):
            continue  # a field of a newer version, a null of an older one
        before = len(odd or ())
        try:
            given[field.name] = None if part is None else field.check(part, odd)
        except Refused as error:
            why = f"{key}: {error}"
            if odd is None or field.name in plan.needed:
                raise Refused(why) from None
            odd[before:] = [why]
        else:
            if odd and len(odd) > before:
                odd[before:] = [f"{key}: {why}" for why in odd[before:][:ODD_KEPT]]
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
    """The fields by their names in JSON (`from` is a keyword of Python: `from_`), and which of them are required."""

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


_short = reprlib.Repr()
_short.maxstring = 60


def _shown(value: Any) -> str:
    """In bounded time and depth: it may be anything."""
    is_huge = isinstance(value, int) and abs(value) >= 10**20
    return "a huge number" if is_huge else f"{_short.repr(value):.60}"


def _anything(value: Any, odd: Odd) -> Any:
    return value


def _text(value: Any, odd: Odd) -> str:
    if not isinstance(value, str):
        raise Refused(f"{_shown(value)} is not a text")
    return value


def _flag(value: Any, odd: Odd) -> bool:
    if not isinstance(value, bool):
        raise Refused(f"{_shown(value)} is neither true nor false")
    return value


def _number(value: Any, odd: Odd) -> float:
    if type(value) not in (int, float) or (type(value) is int and not WHOLE[0] <= value <= WHOLE[1]):
        raise Refused(f"{_shown(value)} is not a number")
    return float(value)


def _finite(value: Any, odd: Odd) -> float:
    if type(value) is float and -1e300 < value < 1e300:
        return value
    if type(value) is not int or not WHOLE[0] <= value <= WHOLE[1]:
        raise Refused(f"{_shown(value)} is not a finite number")
    return float(value)


def _whole(low: int, high: int) -> Check:
    def check(value: Any, odd: Odd) -> int:
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int or not low <= value <= high:
            bounds = "" if (low, high) == WHOLE else f" from {low} to {high}"
            raise Refused(f"{_shown(value)} is not a whole number{bounds}")
        return value

    return check


_PLAIN: Dict[Any, Check] = {Any: _anything, str: _text, bool: _flag, float: _finite, Number: _number}


def _check(hint: Any, name: str = "") -> Check:
    """The function that converts a received value to this type, or raises Refused."""
    if hint is int:
        return _whole(*LIMITS.get(name, WHOLE))
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Union:
        return _or_null(_check(parts[0], name))
    if origin is None:
        return _row(hint) if issubclass(hint, tuple) else lambda value, odd: decode(hint, value, odd)
    if issubclass(origin, collections.abc.Mapping):
        return _by_name(_check(parts[1]))
    return _list(_check(parts[0]))


def _or_null(check: Check) -> Check:
    return lambda value, odd: None if value is None else check(value, odd)


def _list(check: Check) -> Check:
    def listed(value: Any, odd: Odd) -> Tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise Refused(f"{_shown(value)} is not a list")
        return tuple([check(part, odd) for part in value])

    return listed


def _by_name(check: Check) -> Check:
    def mapped(value: Any, odd: Odd) -> Dict[str, Any]:
        if not isinstance(value, dict):
            raise Refused(f"{_shown(value)} is not an object")
        return {str(name): check(part, odd) for name, part in value.items()}

    return mapped


def _row(kind: Any) -> Check:
    """A NamedTuple, which JSON has as a list; what an older version left out has its default."""
    hints = get_type_hints(kind)
    checks = [_check(hint, name) for name, hint in hints.items()]
    least = len(checks) - len(kind._field_defaults)
    takes_null = [get_origin(hint) is Union for hint in hints.values()]

    def row(value: Any, odd: Odd) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) < least:
            raise Refused(f"{_shown(value)} is not a row of {len(checks)}")
        try:
            return kind(*[check(part, odd) for check, part in zip(checks, value)])
        except Refused:
            if odd is None:
                raise
        return kind(*[each(*one, odd) for one in zip(hints, checks, takes_null, value)])

    def each(name: str, check: Check, is_optional: bool, part: Any, odd: List[str]) -> Any:
        try:
            return check(part, odd)
        except Refused as error:
            if not is_optional:
                raise
            odd.append(f"{name}: {error}")
            return None

    return row
