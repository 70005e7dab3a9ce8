FIRES = (
    "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.\n",
    "".join(
        f"[rank{r}]: Traceback (most recent call last):\n[rank{r}]: Exception: Current loss scale already at minimum - "
        "cannot decrease scale anymore. Exiting run.\n"
        for r in range(2)
    ),
    "[rank0] step 7 loss nan\n[rank0] step 8 loss nan\n[rank0] step 9 loss nan\n[rank0] step 10 loss nan\n",
    "".join(f"[rank0] step {n} loss nan\n" for n in range(3)),
)

SILENT = (
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
    + "".join(f"[rank0] step {n} loss 3.0\n" for n in range(20)),
    "".join(f"[rank0] step {n} loss nan\n" for n in range(2)),
)
