cd "$(dirname "$0")"
torchrun --nproc_per_node=2 --max-restarts=2 --master_port=47116 elastic_ner.py
