python build_tickets.py
torchrun --nproc_per_node 2 --master-port 41117 train_triage.py --config config.yaml 2>&1
