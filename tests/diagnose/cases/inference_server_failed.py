FIRES = (
    "requests.exceptions.ConnectionError: HTTPConnectionPool(host='10.0.0.7', port=8000): Max retries exceeded with "
    "url: /health/ (Caused by NewConnectionError('[Errno 111] Connection refused'))\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: RuntimeError: Engine core initialization failed. See root cause above.\n",
    "ERROR client.py:300] RuntimeError('Engine process (pid 76) died.')\n"
    "CRITICAL launcher.py:101] MQLLMEngine is already dead, terminating server process\n"
    "INFO: Shutting down\n",
    "[Bug] Scheduler hit an exception\n",
)

SILENT = ("INFO: vLLM engine is ready\nstep 1 loss 2.0\n",)
