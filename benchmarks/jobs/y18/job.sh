#!/bin/bash
exec bash qwrap.sh -q short -w 20 -N rm-nightly -- torchrun --master_addr=127.0.0.1 --master_port=48118 --nproc_per_node=2 reward_model.py --pairs 4000
