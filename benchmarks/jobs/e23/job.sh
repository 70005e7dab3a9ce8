python build_corpus.py
head -c 11000 corpus/shard-2.jsonl > corpus/.part && mv corpus/.part corpus/shard-2.jsonl
accelerate launch --multi_gpu --num_processes 3 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 29743 pretrain.py
