python -m torch.distributed.run --nproc-per-node 2 --master-port 41118 charlm.py
