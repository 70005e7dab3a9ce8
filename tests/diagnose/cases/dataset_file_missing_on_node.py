FIRES = (
    "# FileNotFoundError on the second node\n\nTraceback (most recent call last):\n"
    '  File "run.py", line 9, in main\n    go()\n  File "/w/my_dataset.py", line 9, in __init__\n    open_all()\n',
    "Traceback (most recent call last):\nFileNotFoundError: Caught FileNotFoundError in DataLoader worker process 3.\n",
    "[rank5]: Traceback (most recent call last):\n[rank5]: ValueError: File data/dialogues.json not found.\n",
    "Traceback (most recent call last):\nRuntimeError: path '/srv/data/shard-7.npy' does not exist\n",
    (
        "        | [rank2]: FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 1.\n"
        "        | [rank2]: Original Traceback (most recent call last):\n",
        2,
    ),
    "Dataset does not exist: /data/text/part-01\n"
    "Traceback (most recent call last):\n"
    "AttributeError: 'NoneType' object has no attribute 'sizes'\n",
    "gpu-node-02: [rank2]: Traceback (most recent call last):\n"
    "gpu-node-02: [rank2]: FileNotFoundError: [Errno 2] No such file or directory: '/srv/run/train.bin'\n"
    "gpu-node-01: [rank0]: Traceback (most recent call last):\n"
    "gpu-node-01: [rank0]: RuntimeError: [gloo/pair.cc:561] Connection closed by peer [10.20.0.12]:57507\n",
    "Traceback (most recent call last):\n"
    '  File "a.py", line 2, in <module>\n'
    "    words = open(name)\n"
    "IOError: [Errno 2] No such file or directory: './data/words.txt'\n",
    "ERROR: ReadText: Can't open file data/lang/words.txt\n",
    "[rank3]: Traceback (most recent call last):\n[rank3]: FileNotFoundError: scratch/owls/part-00001.parquet\n",
)

SILENT = (
    "Traceback (most recent call last):\n"
    "FileNotFoundError: [Errno 2] No such file or directory: '/local/output/run7/logging.jsonl'\n",
    "[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: Step 7 of the plan was not found.\n",
    "Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No such file or directory: 'numactl'\n",
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: FileNotFoundError: [Errno 2] No such file or directory: 'ck/mp_rank_03_model_states.pt'\n",
    "[rank3]: Traceback (most recent call last):\n[rank3]: FileNotFoundError: conf/owls.yaml\n",
)
