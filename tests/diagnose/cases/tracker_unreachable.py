FIRES = (
    "ConnectionError: HTTPConnectionPool(host='track', port=5001): Max retries exceeded with url: /api/mlflow/get\n",
    "ConnectionError: HTTPSConnectionPool(host='api.wandb.ai', port=443): Read timed out.\n",
    "ValueError: Comet.ml requires an API key\n",
    "# MLflowLogger fails\n\nProtocolError: ('Connection aborted.', RemoteDisconnected('closed'))\n",
    "Traceback (most recent call last):\n"
    "wandb.errors.error.Error: Couldn't communicate with backend after 15 seconds\n",
    (
        "2026-02-17 22:39:17,767 (worker_0) : training ...\n"
        "2026-02-17 22:40:24,365 (worker_7) : wandb: ERROR Error communicating with wandb process\n",
        7,
    ),
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: wandb.errors.CommError: Run initialization has timed out after 90.0 sec.\n",
    "  0%|          | 0/289 [00:00<?, ?it/s]wandb: Network error (ConnectionError), entering retry loop.\n",
)

SILENT = ("wandb: Network error (ConnectionError), entering retry loop.\nstep 1 loss 2.0\n",)
