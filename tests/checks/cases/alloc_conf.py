from tests.checks.case import fires, silent

CASES = (
    fires(
        "a100",
        {"run/env/PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,garbage_collection_threshold:0.8"},
        verdict="note",
    ),
    fires("a100", {"run/env/PYTORCH_CUDA_ALLOC_CONF": "expandable_segment:True"}, verdict="block"),
    silent("a100", {"run/env/PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
    silent("cpu", {"run/env/PYTORCH_CUDA_ALLOC_CONF": "nonsense"}),
)
