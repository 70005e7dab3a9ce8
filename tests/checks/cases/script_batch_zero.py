from tests.checks.case import fires, silent
from tests.checks.cases.script_missing import COMMAND, FILE

GUIDES = 'ds_config = {"train_batch_size": 128 * (world_size // 8), "fp16": {"enabled": True}}\n'

CASES = (
    fires("cpu", {**COMMAND, FILE: {"exists": True, "text": GUIDES}}, verdict="block", saw="is 0 at 3 ranks"),
    silent("cpu", {**COMMAND, FILE: {"exists": True, "text": "batch = 4 * world_size\n"}}),
    silent("cpu", {**COMMAND, FILE: {"exists": True, "text": "batch = 4 * (world_size // 3)\n"}}),
)
