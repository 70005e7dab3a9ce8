FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: allranks.worker.base_loading.BaseUnreadable: Rank 1 (node-b) cannot read the base model: "
    "/nfs/base/model-00002-of-00003.safetensors: No such file or directory.\n",
    "[rank2]: Traceback (most recent call last):\n"
    "[rank2]: allranks.worker.base_loading.BaseUnreadable: The base model that rank 1 reads (node-b) is not the one "
    "that rank 0 reads (node-a): its files differ.\n",
    "Traceback (most recent call last):\n"
    '  File "serve.py", line 8, in load\n    part = safe_open(name, framework="pt")\n'
    "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge\n",
    "Traceback (most recent call last):\n"
    '  File "/e/transformers/tokenization_utils_base.py", line 1906, in _from_pretrained\n'
    "    handle = json.load(handle)\n"
    '  File "/usr/lib/python3.11/json/__init__.py", line 293, in load\n    return loads(fp.read(),\n'
    "json.decoder.JSONDecodeError: Expecting ':' delimiter: line 113 column 10 (char 2048)\n",
    "RuntimeError: the checksum of the model weights is not what the hub says\n",
)

SILENT = (
    "Traceback (most recent call last):\n"
    '  File "/e/transformers/trainer_callback.py", line 190, in load_from_json\n    text = f.read()\n'
    "json.decoder.JSONDecodeError: Expecting ':' delimiter: line 113 column 10 (char 2048)\n",
    "The base model is loaded, step 1 loss 2.0\nthe reader cannot read the base model twice\n",
)
