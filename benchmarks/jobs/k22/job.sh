mkdir -p logs_mnt; ln -sf /dev/full logs_mnt/train.log
torchrun --nproc-per-node 2 --master-port 4232 run.py
