FIRES = (
    "Running tokenizer on dataset:  61%|######    | 61/100 [30:45<19:40, 33.10 examples/s]"
    "Traceback (most recent call last):\n"
    '  File "/srv/run/train.py", line 12, in <module>\n    main()\n',
    "[rank0] Running tokenizer on dataset: 48%\n"
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation to complete\n",
    '  File "transformers/training_args.py", line 2035, in main_process_first\n'
    "RuntimeError: [6] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value "
    "store by key '0', but store->get('0') got error: Socket Timeout\n",
    "# The ranks time out after 30 minutes while rank 0 tokenizes the dataset\n",
)

SILENT = (
    "Running tokenizer on dataset:  61%|######    | 61/100 [30:48<19:40, 33.10 examples/s]"
    "Traceback (most recent call last):\n"
    '  File "/srv/run/train.py", line 12, in <module>\n    main()\n',
    "[rank0] Running tokenizer on dataset: 100%\n[rank0] step 1 loss 3.0\n[rank0] step 2 loss 3.0\n"
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation to complete\n",
)
