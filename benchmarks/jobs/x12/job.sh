#!/bin/bash
mpirun --allow-run-as-root --oversubscribe -np 4 bash on_node.sh python diffusion.py --steps 40
