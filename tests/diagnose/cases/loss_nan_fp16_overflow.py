FIRES = (
    "Traceback (most recent call last):\nmini.StopTraining: loss not finite for 3 steps, last lr 0.03\n",
    "wandb: Run summary:\nwandb:      epoch 2\nwandb: train/loss nan\nwandb: Synced 6 W&B file(s)\n",
    "Training steps:   0%|          | 3/9000 [00:09<9:12:25,  3.57s/it, grad_norm=nan, loss=nan, lr=2e-5]\n",
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3e-07, 'epoch': 0.0}\n"
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3e-07, 'epoch': 0.1}\n"
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3e-07, 'epoch': 0.2}\n"
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3e-07, 'epoch': 0.3}\n",
    "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.\n",
    "".join(
        f"[rank{r}]: Traceback (most recent call last):\n[rank{r}]: Exception: Current loss scale already at minimum - "
        "cannot decrease scale anymore. Exiting run.\n"
        for r in range(2)
    ),
    "[rank0] step 7 loss nan\n[rank0] step 8 loss nan\n[rank0] step 9 loss nan\n[rank0] step 10 loss nan\n",
    "".join(f"[rank0] step {n} loss nan\n" for n in range(3)),
    "| WARNING: overflow detected, setting loss scale to: 0.0004\nTraceback (most recent call last):\n",
    "".join(f"step {n} - loss        nan - mean loss        nan\n" for n in range(4)),
    "".join(f"iter {n} lr: 0.001 loss_a: nan loss_b: nan losses: nan\n" for n in range(4)),
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 1.5e-320\n" * 4,
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: probabil'
    "ity tensor contains either `inf`, `nan` or element < 0\n",
    "Loss is nan, stopping training\n",
    "step 4 loss: nan (nan) time: 0.7\nLoss is nan, stopping training\n",
    "WARNING:root:NaN or Inf found in input tensor.\n" * 3,
    'Traceback (most recent call last):\n  File "a.py", line 3, in fit\n    raise ValueError\n'
    "ValueError: the gradients of head.weight are NaN, rank 2 stops\n",
    "FloatingPointError: divide by zero encountered in scalar divide\n",
    "# Our loss turned into NaN in epoch 3\n\nstep 100 loss 2.5\nstep 200 loss 2.25\n",
    "Batch 7: Invalid loss, terminating training\n",
    "Model diverged with loss = NaN.\n",
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n'
    "trainers.NanLossDuringTrainingError: the loss of step 4 cannot be used\n",
    'Traceback (most recent call last):\n  File "/v/site-packages/apex/amp/scaler.py", line 120, in unscale\n'
    "    1. / scale)\nZeroDivisionError: float division by zero\n",
    "# grad_norm is nan\n\n## A\n\n```\nstep 1 loss 2.5\nstep 2 loss 2.25\n```\n\n## B\n\n## C\n",
    "[Rank 0] Overflow detected. Skipping step. Attempted loss scale: 1, reducing to 1\n",
    "# The loss overflows in bf16\n",
    (
        "rank=2 step=18 loss=5.3 gnorm=0.7\n"
        "[rank2]: Traceback (most recent call last):\n"
        '[rank2]:   File "/r/sft.py", line 31, in <module>\n'
        "[rank2]: NonFiniteLoss: loss=nan at step 19, label tokens in batch: 0\n",
        2,
    ),
)

SILENT = (
    "ValueError: cannot convert float NaN to integer\n",
    "# Comments of a program\n\nx = 1\n# the loss is NaN here\n",
    "ValueError: column price of rows.csv has NaN values\n",
    "wandb: Run summary:\nwandb:      epoch 2\nwandb: train/loss 1.75\nwandb: Synced 6 W&B file(s)\n",
    "{'loss': 1.5, 'grad_norm': nan, 'epoch': 0.0}\n"
    "{'loss': 1.5, 'grad_norm': nan, 'epoch': 0.1}\n"
    "{'loss': 1.5, 'grad_norm': nan, 'epoch': 0.2}\n"
    "{'loss': 1.5, 'grad_norm': nan, 'epoch': 0.3}\n"
    "{'loss': 1.5, 'grad_norm': nan, 'epoch': 0.4}\n"
    "{'loss': 1.5, 'grad_norm': nan, 'epoch': 0.5}\n"
    "{'loss': 1.5, 'grad_norm': 1.25, 'epoch': 0.6}\n"
    "{'loss': 1.5, 'grad_norm': 1.25, 'epoch': 0.7}\n"
    "{'loss': 1.5, 'grad_norm': 1.25, 'epoch': 0.8}\n",
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
    + "".join(f"[rank0] step {n} loss 3.0\n" for n in range(20)),
    "".join(f"[rank0] step {n} loss nan\n" for n in range(2)),
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n"
    + "".join(f"step {n} loss 3.0\n" for n in range(20)),
)
