FIRES = (
    (
        "step 4000 loss 0.61\n"
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "/home/u/train.py", line 88, in <module>\n'
        "[rank0]: OSError: [Errno 127] Key has expired: '/home/u/out/checkpoint-4000'\n",
        0,
    ),
    # safetensors and tokenizers write in Rust; another rank lost its peer first, by the log's order.
    (
        "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, remote process "
        "exited or there was a network error\n"
        "[rank0]: Traceback (most recent call last):\n"
        "[rank0]: safetensors_rust.SafetensorError: Error while serializing: I/O error: Key has expired "
        "(os error 127)\n",
        0,
    ),
    "[rank2]: Traceback (most recent call last):\n"
    "[rank2]: OSError: [Errno 126] Required key not available: '/mnt/share/data/train.arrow'\n",
    "bash: /home/u/run.sh: Key has expired\n",
    "Traceback (most recent call last):\n"
    "gssapi.raw.misc.GSSError: Major (851968): Unspecified GSS failure.  Minor code may provide more information, "
    "Minor (2529638944): Ticket expired\n",
    "klist: No credentials cache found (filename: /tmp/krb5cc_1000)\n",
    "Kerberos authentication failed\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: PermissionError: [Errno 13] Permission denied: '/home/u/out/checkpoint-4000'\n",
    "Traceback (most recent call last):\n"
    "huggingface_hub.errors.HfHubHTTPError: 401 Client Error: Key has expired\n",
    "wandb: ERROR API Key has expired\n",
    "gpg: key 0123ABCD: Key has expired\n",
    # ssh falls back to a key, and the training goes on.
    "debug: Unspecified GSS failure.  Minor code may provide more information: Ticket expired\nstep 1 loss 2.0\n",
)
