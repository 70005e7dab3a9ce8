from tests.checks.case import fires, silent
from tests.checks.cases.script_missing import COMMAND, FILE

GUIDES = 'ds_config = {"train_batch_size": 128 * (world_size // 8), "fp16": {"enabled": True}}\n'

CASES = (
    fires("cpu", {**COMMAND, FILE: {"exists": True, "text": GUIDES}}, verdict="block", saw="is 0 at 3 ranks"),
    silent("cpu", {**COMMAND, FILE: {"exists": True, "text": "batch = 4 * world_size\n"}}),
    silent("cpu", {**COMMAND, FILE: {"exists": True, "text": "batch = 4 * (world_size // 3)\n"}}),
    fires(
        "cpu",
        {**COMMAND, FILE: {"exists": True, "text": "world_size // 2"}},
        verdict="warn",
        saw="is 1 at 3 ranks",
    ),
    fires("cpu", {**COMMAND, FILE: {"exists": True, "text": "dist.get_world_size() // 4"}}, verdict="block"),
    silent(
        "cpu", {**COMMAND, FILE: {"exists": True, "text": "samples // 4; world_size // 0; world_size // n"}}
    ),
)
