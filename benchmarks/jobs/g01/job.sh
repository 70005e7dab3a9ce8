python make_data.py
torchrun --nproc-per-node 2 --master-port 31701 train.py --data corpus.jsonl --epochs 2
