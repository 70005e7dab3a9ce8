export DS_ACCELERATOR=cpu
python -W ignore train_zero3.py init base.pt 2>/dev/null
torchrun --nproc-per-node=2 --master-addr=127.0.0.1 --master-port=29618 train_zero3.py base.pt
