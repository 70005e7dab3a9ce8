"""Short tests of the network before a launch, and what their results mean.

`tcp` and `collective` ask the nodes; `results` holds their answers; `blame` and the files of `rules/` judge them.
`docs/probe.md` says what is tried and how long it takes.
"""

from allranks.probe.catalogue import ids, page
from allranks.probe.judge import judge
from allranks.probe.prober import Options, Probed, probe
from allranks.probe.steps import Step, steps

__all__ = ["Options", "Probed", "Step", "ids", "judge", "page", "probe", "steps"]
