from tests.checks.case import Remove, fires, silent

NAMES = ["dataset", "dataset_dir", "lora_rank", "lora_alpha", "lora_target", "stage", "max_steps", "bf16"]

KNOWN = [
    *("model_name_or_path", "template", "finetuning_type", "per_device_train_batch_size", "learning_rate"),
    *("gradient_accumulation_steps", "report_to", "save_only_model", "cutoff_len", "use_cpu", *NAMES),
]

UNASKED = {"*/imports/configuration": Remove}
ALSO = ("library-unasked",)
"""If nobody has asked the libraries, that is said, too."""

CASES = (
    fires(
        "a100",
        {"run/train/arguments/save_safetensors": True, **UNASKED},
        verdict="block",
        saw="save_safetensors",
        also=ALSO,
    ),
    fires(
        "a100",
        {"run/train/arguments/lora_rnak": 16, "*/imports/accepted": {"arguments": KNOWN}, **UNASKED},
        verdict="block",
        saw="lora_rnak",
        also=ALSO,
    ),
    # Nobody has asked the trainer, and the name is nearly one that 0.9.5 knows.
    fires(
        "a100",
        {"run/train/arguments/learning_rat": 1, **UNASKED},
        verdict="warn",
        saw="learning_rat",
        also=ALSO,
    ),
    # The installed one was asked, and takes it.
    fires("a100", {"run/train/arguments/save_safetensors": True}, verdict="note", saw="takes it"),
    silent("a100", {"run/train/arguments/an_argument_of_a_later_version": 1}),
    silent("a100", {"*/imports/accepted": {"arguments": KNOWN}}),
    silent(
        "a100", {"run/train/arguments/save_safetensors": True, "*/software/versions/transformers": "4.52.4"}
    ),
)
