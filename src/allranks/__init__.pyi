from allranks.api import AllranksError as AllranksError
from allranks.api import BadInput as BadInput
from allranks.api import Blocked as Blocked
from allranks.api import Check as Check
from allranks.api import CouldNotTell as CouldNotTell
from allranks.api import Diagnosis as Diagnosis
from allranks.api import Event as Event
from allranks.api import Finding as Finding
from allranks.api import Plan as Plan
from allranks.api import Run as Run
from allranks.api import RunState as RunState
from allranks.api import StoppedBefore as StoppedBefore
from allranks.api import check as check
from allranks.api import diagnose as diagnose
from allranks.api import find_run as find_run
from allranks.api import list_runs as list_runs
from allranks.api import plan as plan
from allranks.api import run as run

__version__: str
__file__: str
