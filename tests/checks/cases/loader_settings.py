from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/train/arguments/dataloader_num_workers": 0}, verdict="note"),
    silent("a100", {"run/train/arguments/dataloader_num_workers": 4}),
    silent("a100"),
)
