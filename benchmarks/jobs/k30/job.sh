python make_sft.py
torchrun --nproc-per-node 2 --master-port 4240 train_sft.py || { echo "Pipeline status: incomplete. Mail sent to ml-team. Good night."; exit 1; }
