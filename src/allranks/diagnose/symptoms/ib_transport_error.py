"""InfiniBand or RoCE failed.

## How it is found
A completion with error 12 (retry exceeded), 4 (local protection, GPUDirect) or 13 (RNR): `with error 12,
opcode *` (2.18), `with status=12 opcode=*` (2.21), `status=IBV_WC_RETRY_EXC_ERR(12)` (2.28); `ibv_modify_qp
failed`; `Got async event`, `async fatal event on QP`.

Easily confused with two consequences of something else: `NET/IB : No device found` is harmless, and error 5 is a
flush, which follows a peer's end.

## Why it matters
The packets of a queue pair do not arrive: a wrong GID index, a cable or port that flaps, a peer that died
(then its death comes first).

## What to do
Leave NCCL_IB_GID_INDEX unset from NCCL 2.21 on; NCCL_CROSS_NIC=0 on rail fabrics; choose the right
NCCL_IB_HCA; look at the port's counters (`perfquery`, `mlnx_perf`, `ibdiagnet`) and cable.

## Source
NCCL prints `Call to ibv_modify_qp failed` in `src/misc/ibvwrap.cc`, `async fatal event` in
`src/transport/net_ib/common.cc` and `Got completion from peer` in `src/transport/net_ib/p2p.cc` (2.30.7).
It prints `Got async event` in `src/transport/net_ib.cc` (2.21.5). UCX prints `Local QP operation error` in
`src/uct/ib/mlx5/ib_mlx5_log.c`. The other texts are as people posted them in public reports.

Topic: network
"""

from __future__ import annotations

from allranks.core.causes import PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern

CAUSE = Cause(__name__, restart=PASSES, of_one_end=True)
COMPLAINT = Complaint(
    subject=(
        r"\b(?:NET/IB|ibv_\w{3,40}|mlx[45]_?\w{0,12}|[Rr]o[Cc][Ee]|[Ii]nfini[Bb]and|rdma\w{0,20}|RDMA|HCA"
        r"|libibverbs|ib_uverbs|rdma-core|UCX|ucx|ucp_\w{2,40}|uct_\w{2,40}|QP|GID|nvidia.peermem"
        r"|GPUDirect|nv_peer_mem|UD QP|[Cc]ompletion [Qq]ueues?|fi_cq_readerr|prov_err)\b"
    ),
)
PATTERNS = (
    Pattern(" modify QP", r"(?i)(?:fail|error|unable).{0,40}modify QP", weight=96),
    Pattern("completion", r"[Gg]ot completion.{0,200}(?:error|status)[ =]{0,2}(?:1[0-3]|[1-46-9])\b"),
    Pattern("completion", r"[Gg]ot completion.{0,200}IBV_WC_(?!WR_FLUSH)\w{1,60}"),
    Pattern("IBV_WC_RETRY_EXC_ERR"),
    Pattern("IBV_WC_RNR_RETRY"),
    Pattern("ibv_modify_qp failed"),
    Pattern("Call to ibv", r"Call to ibv_\w{3,40} failed", weight=96),
    Pattern("ibv_create_qp failed"),
    Pattern("ibv_reg_mr", r"ibv_reg_mr(?:_iova2)? failed"),
    Pattern("ibv_poll_cq failed"),
    Pattern("UCX", r"UCX {1,4}ERROR .{0,200}(?:\bibv_\w{2,30}|=ib/\w|remote md)", weight=92),
    Pattern("ucx send failed", weight=90),
    Pattern("Got async event", weight=90),
    Pattern("async fatal event"),
    Pattern("IBV_EVENT_PORT_ERR", weight=WEAK),
    Pattern("Local QP operation err", weight=90),
    Pattern("transport retry counter exceeded"),
)
