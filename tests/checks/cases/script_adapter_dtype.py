from tests.checks.case import fires, silent
from tests.checks.cases.script_missing import COMMAND, FILE

TEXT = "import deepspeed\nmodel = get_peft_model(base, config)\n"

CASES = (
    fires("cpu", {**COMMAND, FILE: {"exists": True, "text": TEXT}}, verdict="warn"),
    silent(
        "cpu",
        {**COMMAND, FILE: {"exists": True, "text": TEXT.replace(")", ", autocast_adapter_dtype=False)")}},
    ),
    silent(
        "cpu", {**COMMAND, FILE: {"exists": True, "text": TEXT}, "*/software/versions/deepspeed": "0.16.9"}
    ),
)
