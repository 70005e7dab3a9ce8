from tests.checks.case import fires, silent

OLD = {"*/software/versions/transformers": "4.52.4", "*/software/requires": {}}

CASES = (
    fires(
        "a100",
        {**OLD, "*/storage/model/config/model_type": "hunyuan_v1_moe"},
        verdict="block",
        saw="hunyuan_v1_moe has 256",
    ),
    fires(
        "a100",
        {**OLD, "*/storage/model/config/model_type": "hunyuan_v1_moe", "node-0/storage/model/config": None},
        saw="hunyuan_v1_moe has 256",
        also=("model-missing",),  # of the node that sent no config
    ),
    silent("a100", {**OLD, "*/storage/model/config/model_type": "glm4_moe"}),
    silent("a100", {**OLD, "*/storage/model/config/model_type": "gpt_oss"}),
    silent("a100", OLD),
    silent("a100", {"*/storage/model/config/model_type": "hunyuan_v1_moe"}),
    silent("h100", OLD),
)
