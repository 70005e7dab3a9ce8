export MICRO_BATCH=8
torchrun --nproc-per-node 3 --master-port 21856 pipe.py
