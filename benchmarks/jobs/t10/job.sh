#!/bin/sh
# nightly slot
timeout 28 torchrun --nproc_per_node=4 --master_port=47517 rl_actor.py --iters 100000
