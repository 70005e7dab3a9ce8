"""A run file of anybody: it is read, or refused with a place, and nothing else happens."""

from __future__ import annotations

import warnings

from allranks import spec
from allranks.core import BadInput
from tests.attacks.seeded import TEXTS, Damage, attacked
from tests.which import ROOT

FILES = [path.read_bytes() for path in sorted((ROOT / "examples").glob("*.yaml"))]
YAML = (
    b"&a [*a]",
    b"!!python/object:os.system x",
    b"? {a: b}",
    b"<<: *x",
    b"%YAML 9",
    b"- - - -",
    b"|+\n  x",
    b"\t",
)


@attacked(quick=60, long=1500)
def test_a_damaged_run_file_is_read_or_refused(seed: int, rounds: int) -> None:
    damage = Damage(seed)
    for number in range(rounds):
        made = damage.bytes(damage.random.choice(FILES))
        if number % 3 == 0:
            at = damage.random.randrange(len(made) + 1)
            made = made[:at] + damage.random.choice(YAML) + made[at:]
        text = made.decode("utf-8", "replace")
        sets = [f"{damage.random.choice(('env', 'gpus', 'nodes', 'x'))}={damage.random.choice(TEXTS)[:60]}"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                run = spec.loads(text, "run.yaml", sets if number % 5 == 0 else ())
            except BadInput as error:
                assert error.problems and all(p.saw for p in error.problems), text
            else:
                assert run.cluster.nodes, text
