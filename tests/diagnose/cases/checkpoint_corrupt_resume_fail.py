FIRES = (
    'Traceback (most recent call last):\n  File "train.py", line 9, in main\n    adam.load_state_dict(kept["adam"])\n'
    "KeyError: 'adam'\n",
    'Traceback (most recent call last):\n  File "train.py", line 9, in main\n    best = ckpt["best"]\n'
    "KeyError: 'best'\n",
    "OSError: Unable to load weights from pytorch checkpoint file for '/x/pytorch_model.bin'\n",
    '[rank1]: Traceback (most recent call last):\n[rank1]:   File "/e/transformers/trainer.py", line 2700, in '
    "_load_from_checkpoint\n[rank1]: "
    "safetensors._safetensors_rust.SafetensorError: Error while "
    "deserializing header: incomplete metadata, file not fully covered\n"
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: "
    "[gloo/pair.cc:561] Connection closed by peer\n",
    "[rank2]: Traceback (most recent call last):\n[rank2]: RuntimeError: "
    "PytorchStreamReader failed reading zip archive: "
    "failed finding central directory.\n",
    "OpError: file is too short to be an sstable\n",
    "NotFoundError: Key conv/beta not found in checkpoint\n",
    "DataLossError: Data loss: not an sstable (bad magic number)\n",
    "zipfile.BadZipFile: Bad CRC-32 for file 'archive/data/3'\n",
    "DataLossError: Checksum does not match: stored 1 vs. calculated 2\n",
    "No file found at '/o/last.ckpt', so the run cannot resume\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: FileNotFoundError: "
    "[Errno 2] No such file: 'train.jsonl'\n",
)
