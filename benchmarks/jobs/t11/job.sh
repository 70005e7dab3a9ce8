set -e
python tools/prepare_resume.py
torchrun --nproc_per_node 3 --master_addr 127.0.0.1 --master_port 47519 finetune.py --resume ckpts/step_000400
