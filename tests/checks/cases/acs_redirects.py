from tests.checks.case import Unreadable, fires, silent

CASES = (
    fires("h100", {"node-1/driver/acs_redirects": ["0000:00:01.0", "0000:40:01.0"]}, node="node-1"),
    silent("h100", {"node-1/driver/acs_redirects": None}),
    silent("t4", {"localhost/driver/acs_redirects": ["0000:00:01.0"]}),
    silent("h100", {"node-1/driver/acs_redirects": Unreadable("x")}),
)
