from tests.checks.case import fires, silent

TAKEN_AT = 1_760_000_000.0

CASES = (
    fires(
        "cpu",
        {"node-1/asked": {"sent_at": TAKEN_AT - 91.0, "received_at": TAKEN_AT - 89.5}},
        node="node-1",
        verdict="warn",
        saw="1 min 30 s ahead",
    ),
    fires(
        "cpu",
        {"node-1/asked": {"sent_at": TAKEN_AT + 5, "received_at": TAKEN_AT + 6}},
        verdict="note",
        saw="behind",
    ),
    # An answer that took ten seconds says nothing about an offset of eight.
    silent("cpu", {"node-1/asked": {"sent_at": TAKEN_AT - 8.0, "received_at": TAKEN_AT + 2.0}}),
    silent("cpu"),
    # Half an answer says nothing.
    silent("cpu", {"node-1/asked": {"sent_at": TAKEN_AT + 60.0}}),
    silent("cpu", {"node-1/asked": {"received_at": TAKEN_AT - 60.0}}),
    silent(
        "cpu",
        {
            "node-1/asked": {"sent_at": TAKEN_AT + 60.0, "received_at": TAKEN_AT + 61.0},
            "node-1/collection": {},
        },
    ),
    fires(
        "cpu", {"node-1/asked": {"sent_at": TAKEN_AT + 60.0, "received_at": TAKEN_AT + 61.0}}, verdict="warn"
    ),
    fires(
        "cpu", {"node-1/asked": {"sent_at": TAKEN_AT + 59.5, "received_at": TAKEN_AT + 60.0}}, verdict="note"
    ),
    fires(
        "cpu", {"node-1/asked": {"sent_at": TAKEN_AT + 2.0, "received_at": TAKEN_AT + 3.0}}, verdict="note"
    ),
    silent("cpu", {"node-1/asked": {"sent_at": TAKEN_AT + 1.9, "received_at": TAKEN_AT + 3.0}}),
)
