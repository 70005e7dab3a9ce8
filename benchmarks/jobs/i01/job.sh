python make_corpus.py
torchrun --nproc_per_node 2 --master-port 41101 train.py --data corpus.jsonl --epochs 2
