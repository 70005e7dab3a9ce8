"""The Kerberos ticket for shared storage has expired.

## How it is found
`[Errno 127] Key has expired` or `[Errno 126] Required key not available` at a file or folder, and `Ticket expired` from
a library that logs in by Kerberos itself.

Easily confused with permission-denied-output, which some file systems (AFS, older NFS clients) print for the same
reason: then a path that could be written for hours can no longer be. nfs-stale-or-io-error is a fault of the server.

## Why it matters
NFS with `sec=krb5` and CIFS read and write with the ticket of the run's user on each node. A ticket often lasts 10
hours. A login session renews it, but nothing renews it for a training that outlives the session. Reads from the
page cache still work, so it is often the next checkpoint that fails.

## What to do
`klist` on that node as the run's user shows when the ticket ended. Get a new one there (`kinit`), then resume. For
long runs keep it renewed on every node (`krenew` or `k5start` with a keytab, or the scheduler's own forwarding, such as
AUKS for SLURM), or save to storage without Kerberos.

## Source
Linux `include/uapi/asm-generic/errno.h` (ENOKEY, EKEYEXPIRED) and `net/sunrpc/auth_gss/auth_gss.c`, which passes on
what rpc.gssd says of a ticket; MIT krb5 `KRB5KRB_AP_ERR_TKT_EXPIRED`. In the wild: datalad/datalad#6205.

Topic: storage
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern

CAUSE = Cause(__name__)
_NOT_FILES = ("HTTP", "http", "API", "gpg")
COMPLAINT = Complaint(
    subject=r"(?i)\bkerberos\b|\bkinit\b|\bklist\b|\bkrb5\w{0,9}\b|\bticket-granting|\bAFS tokens?\b"
)
PATTERNS = (
    Pattern("Key has expired", r"Errno 127\b|os error 127\b|\S: Key has expired", without=_NOT_FILES),
    Pattern("Required key not available", r"Errno 126\b|os error 126\b|\S: Required key", without=_NOT_FILES),
    Pattern("No credentials cache found", weight=WEAK),
    Pattern("Ticket expired", r"GSSError|[Kk]erberos\w{0,20}(?:Error|Exception)", raised=True),
)
