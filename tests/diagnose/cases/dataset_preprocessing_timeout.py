FIRES = (
    "[rank0] Running tokenizer on dataset: 48%\n"
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation to complete\n",
    '  File "transformers/training_args.py", line 2035, in main_process_first\n'
    "RuntimeError: [6] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value "
    "store by key '0', but store->get('0') got error: Socket Timeout\n",
)

SILENT = (
    "[rank0] Running tokenizer on dataset: 100%\n[rank0] step 1 loss 3.0\n[rank0] step 2 loss 3.0\n"
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation to complete\n",
)
