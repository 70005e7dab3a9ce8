FIRES = (
    "RuntimeError: Internal: could not parse ModelProto from /m/tokenizer.model\n",
    "ValueError: Unrecognized model in /m. Should have a `model_type` key in its config.json\n",
    "error: failed to open /m/a.gguf for reading\n",
    "ValueError: could not find model weights in /m\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: OSError: Error no "
    "file named model.safetensors, or pytorch_model.bin, "
    "found in directory ./emptymodel.\n",
    "node2: [rank8]: Traceback (most recent call last):\nnode2: [rank8]: "
    "huggingface_hub.errors.HFValidationError: Repo id must be "
    "in the form 'repo_name' or 'namespace/repo_name': '/nfs/DeepSeek-V3-bf16'. "
    "Use `repo_type` argument if needed.\n",
    "OSError: file /m/base/config.json not found\n",
    "FileNotFoundError: [Errno 2] No such file or directory: '/m/base/params.json'\n",
    "ValueError: vocab_file does not exist.\n",
    "# vocab.json is missing\n",
    "FileNotFoundError: [Errno 2] No such file or directory: '/w/t5/episode0/pytorch_model.bin'\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n"
    '[rank0]:   File "/work/train.py", line 88, in save\n'
    '[rank0]:   File "/usr/lib/python3.11/pathlib.py", line 1044, in open\n'
    "[rank0]: FileNotFoundError: [Errno 2] No such file or directory: 'out/checkpoint-30/adapter_config.json'\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: OSError: We couldn't "
    "connect to 'https://huggingface.co' to load\n",
)
