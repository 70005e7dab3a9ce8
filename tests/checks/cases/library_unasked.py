from tests.checks.case import Remove, Unreadable, fires, silent

SLOW = {"digest": "", "answer": {"unknown": "they did not answer within 30 s"}}

CASES = (
    fires("cpu", {"node-1/imports/configuration": SLOW}, node="node-1", verdict="unknown", saw="within 30 s"),
    fires("cpu", {"*/imports/configuration": Remove}, verdict="warn", saw="were not asked"),
    fires("cpu", {"*/imports/configuration": {"digest": "another"}}, verdict="warn"),
    fires(
        "cpu",
        {"node-2/imports/configuration": Unreadable("no space left")},
        verdict="unknown",
        saw="no space",
    ),
    silent("cpu"),
    # environment-import says why, once.
    silent(
        "cpu", {"*/imports/configuration": SLOW, "*/imports/modules/torch": {"error": "ImportError: libc"}}
    ),
)
