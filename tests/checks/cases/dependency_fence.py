from tests.checks.case import fires, silent

SCRIPT = {"run/train/kind": "command", "*/software/versions/transformers": "5.23.0"}
CASES = (
    fires("a100", {"*/software/versions/transformers": "5.23.0"}, verdict="block", saw="5.23.0 is installed"),
    fires(
        "a100",
        {"*/software/versions/transformers": "5.23.0", "run/env/DISABLE_VERSION_CHECK": "1"},
        verdict="warn",
    ),
    silent("a100"),
    silent("a100", {**SCRIPT, "run/train/command": ("/opt/train.py",)}),
    fires("a100", {**SCRIPT, "run/train/command": ("-m", "llamafactory.v1.launcher")}, verdict="block"),
    silent("a100", {"*/software/requires": {"llamafactory": ["???", "transformers<5; python_version<'3'"]}}),
)
