from tests.checks.case import fires, silent
from tests.checks.cases.script_missing import COMMAND, FILE

GUIDES = """
try:
    step()
except Exception as e:
    model_engine.save_checkpoint('emergency', tag=f'rank_{rank}_error')
    raise
"""

RIGHT = """
if rank == 0:
    print('done')
model_engine.save_checkpoint('checkpoints')
if rank == 0 and hash(model):
    torch.save(weights, 'adapter.bin')
"""

CASES = (
    fires(
        "cpu", {**COMMAND, FILE: {"exists": True, "text": GUIDES}}, verdict="warn", saw="in an except clause"
    ),
    fires(
        "cpu", {**COMMAND, FILE: {"exists": True, "text": "if rank == 0:\n    engine.save_checkpoint('x')\n"}}
    ),
    silent("cpu", {**COMMAND, FILE: {"exists": True, "text": RIGHT}}),
)
