#!/bin/bash
export GLOO_SOCKET_IFNAME=lo
python prep.py
python feature_service.py 2>/dev/null & fs=$!
trap 'kill $fs 2>/dev/null; wait $fs 2>/dev/null' EXIT
sleep 1
torchrun --nproc_per_node=3 --max-restarts=2 --rdzv-backend=c10d --rdzv-endpoint=127.0.0.1:48237 elastic_train.py && python -c "
import torch; sd = torch.load('final.pt'); print('final.pt:', {k: tuple(v.shape) for k, v in sd.items()})"
