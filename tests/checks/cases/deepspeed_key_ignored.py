from tests.checks.case import Remove, fires, silent

BASE = {"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}
REMOVED = {**BASE, "curriculum_learning": {"enabled": True}}

CASES = (
    fires("h100", {"deepspeed": {**BASE, "gradient_cliping": 1.0}}, verdict="warn", saw="gradient_cliping"),
    # Nobody has asked the libraries.
    fires(
        "h100",
        {"deepspeed": REMOVED, "*/imports/configuration": Remove},
        verdict="block",
        also=("library-unasked",),
    ),
    # The installed DeepSpeed was asked, and takes it.
    fires("h100", {"deepspeed": REMOVED}, verdict="note", saw="curriculum_learning"),
    fires("h100", {"deepspeed": {**BASE, "wall_clock_breakdown": True}}, verdict="note"),
    silent("h100", {"deepspeed": {**BASE, "moe": {"enabled": True}, "communication_data_type": "bf16"}}),
)
