FIRES = (
    "requests.exceptions.ConnectionError: HTTPConnectionPool(host='10.0.0.7', port=8000): Max retries exceeded with "
    "url: /health/ (Caused by NewConnectionError('[Errno 111] Connection refused'))\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: Engine core initialization failed. See root cause above.\n",
    "ERROR client.py:300] RuntimeError('Engine process (pid 76) died.')\n"
    "CRITICAL launcher.py:101] MQLLMEngine is already dead, terminating server process\n"
    "INFO: Shutting down\n",
    "[Bug] Scheduler hit an exception\n",
    (
        "ERROR 12-05 23:17:46 [executor.py:141] Worker proc VllmWorker-3 died unexpectedly, shutting down executor.\n",
        3,
    ),
    ("[07:33:12 TP6] Scheduler hit an exception: Traceback (most recent call last):\n", 6),
    (
        "[2026-03-02 09:48:55 PP0 ATTN_CP1 TP1 EP1] Scheduler hit an exception: Traceback (most recent call last):\n",
        1,
    ),
    ("[2026-03-02 09:48:55 DP1 TP1] Scheduler hit an exception: Traceback (most recent call last):\n", None),
)

SILENT = ("INFO: vLLM engine is ready\nstep 1 loss 2.0\n",)
