python -W ignore make_tables.py
torchrun --nproc-per-node=2 --master-port=29733 train.py
