"""What ssh says under pdsh and mpirun, and the options that keep it from asking."""

from __future__ import annotations

CONNECT_SECONDS = 10
OPTIONS = ("-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS}")
"""Nobody can answer a question; 10 s is the limit of our own connections too (`transport/ssh.py`)."""

TRY = "on the head: ssh NODE true shows the same"
SAYS = (
    (r"ssh: connect to host .*: Connection refused", "nothing listens on its SSH port", TRY),
    (r"ssh: connect to host .*: (Connection timed out|No route to host)", "it does not answer", TRY),
    (
        r"ssh: Could not resolve hostname",
        "its name does not resolve on the head",
        "add it to /etc/hosts there",
    ),
    (r"Host key verification failed", "the head does not know its host key", TRY),
    (r"Permission denied \(", "it accepts none of the head's keys", TRY),
    (r"Connection (closed|reset) by", "it closed the connection", TRY),
)
