from tests.checks.case import fires, silent

CASES = (
    fires("demo", {"node-1/system/boot_id": "another"}, verdict="block", saw="2 machines answered"),
    silent("demo"),
)
