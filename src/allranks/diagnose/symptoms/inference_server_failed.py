"""The inference server of the run did not start or died.

## How it is found
`Engine core initialization failed`, `EngineDeadError`, `vLLM server … failed to start`, `Failed core
proc(s)`, `Server disconnected`, sglang's `Received sigquit from a child process. It usually means the
child failed`, `Rank 0 scheduler died`.

Easily confused with cuda-oom and the other causes, which are named instead if the child's exception is in the
logs.

## Why it matters
Reinforcement learning and evaluation start vLLM or SGLang beside the training. Its main process only repeats that
a child failed; the child's own exception is above it: mostly too little memory, or a model that the server does
not know.

## What to do
Look for the first exception of the server's child processes. Less memory for it
(`gpu_memory_utilization`, `mem_fraction_static`, `max_model_len`), a version that knows the model, a port
of its own for each server.

## Source
vLLM raises `Engine core initialization failed` in `vllm/v1/engine/utils.py` and defines `EngineDeadError`
in `vllm/v1/engine/exceptions.py`. The other texts are as people posted them in public reports.

Topic: start
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    frame=r"/(?:vllm|sglang|lmdeploy|openai)/|vllm_(?:client|generation|engine)\w{0,20}\.py in",
    subject=(
        r"(?i)\bv?llm[ _](?:server|engine|worker)|\bsglang\b|inference (?:server|engine)|engine core"
        r"|(?:teacher|reward|rollout|api|model|generation) server|\bhealth check|\bkv[- _]?cache\b"
        r"|\bserver (?:task|process|failed|exited|died|crashed)\b|internal server error"
        r"|\b(?:http|status|response) (?:response )?(?:code )?(?:was |is |=|: ?)?50\d\b"
    ),
    broad=True,
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:vllm|sglang|lmdeploy|tgi|tensorrt[-_ ]?llm|trt-?llm|text[-_]generation\w{0,12}"
        r"|triton (?:inference )?server|inference (?:server|engine)|api[-_ ]server|engine ?core"
        r"|llm ?engine|rollout (?:server|worker|engine)|vllm_\w{2,20}|model server|uvicorn|ollama)\b"
    ),
    general=True,
)
PATTERNS = (
    Pattern(
        "HTTPConnectionPool",
        r"(?i)ConnectionError: HTTPConnectionPool\(host='(?:localhost|[\d.:]{3,45})', port=\d{1,5}\): .{0,80}"
        r"url: /(?:health|v1/|generate|init_|get_world_size|update_|reset_|chat|collective)",
        weight=84,
    ),
    Pattern("Engine core initialization failed", weight=84),
    Pattern("EngineDeadError", weight=82),
    Pattern("Failed core proc", weight=82),
    Pattern("scheduler died", r"(?i)rank (?P<rank>\d{1,5}) scheduler died", weight=84),
    Pattern("Received sigquit from a child process", weight=84),
    Pattern(
        "server",
        r"(?i)(?:vllm|sglang|inference) server .{0,40}(?:failed|be reached|did not start|exited|timed out)",
        weight=84,
    ),
    Pattern("AsyncEngineDeadError", weight=82),
    Pattern("died unexpectedly", r"Worker\w{0,8}-(?P<rank>\d{1,5}) died unexpectedly", weight=82),
    Pattern("Engine process (pid", r"Engine process \(pid \d{1,9}\) died", weight=82),
    Pattern("MQLLMEngine is already dead", weight=82),
    Pattern("Scheduler hit an exception", weight=80),  # SGLang
    Pattern("No available memory for the cache blocks", weight=96),
    Pattern("Free memory on device", r"is less than desired GPU memory utilization", weight=96),
)
