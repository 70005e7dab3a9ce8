python -m torch.distributed.run --nproc-per-node=3 --master-port=4211 --tee 3 main.py --steps 33; echo "exit code: $?"
