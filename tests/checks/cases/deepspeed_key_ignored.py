from tests.checks.case import fires, silent

BASE = {"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}

CASES = (
    fires("h100", {"deepspeed": {**BASE, "gradient_cliping": 1.0}}, verdict="warn", saw="gradient_cliping"),
    fires("h100", {"deepspeed": {**BASE, "curriculum_learning": {"enabled": True}}}, verdict="block"),
    fires("h100", {"deepspeed": {**BASE, "wall_clock_breakdown": True}}, verdict="note"),
    silent("h100", {"deepspeed": {**BASE, "moe": {"enabled": True}, "communication_data_type": "bf16"}}),
)
