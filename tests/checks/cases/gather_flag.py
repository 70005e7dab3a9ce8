from tests.checks.case import fires, silent

OFF = {"deepspeed": {"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}}

OLD = {"*/software/versions/transformers": "4.52.4", "*/software/requires": {}}

CASES = (
    fires("h100", {**OFF, "run/train/arguments/finetuning_type": "full"}, verdict="warn"),
    fires("h100", {**OFF, **OLD}, verdict="note"),
    silent("h100", OFF),
    silent("h100"),
)
