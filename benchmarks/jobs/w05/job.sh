#!/bin/bash
# minq: our two-slot queue for the lab machine
mkdir -p logs
exec python minq.py --job 214 --cmd "python trainer.py" --nproc 4 --inbox inbox --log logs >/dev/null 2>&1
