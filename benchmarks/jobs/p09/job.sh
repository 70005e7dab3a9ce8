cd "$(dirname "$0")"
torchrun --standalone --nproc_per_node=2 train.py --stages 3
