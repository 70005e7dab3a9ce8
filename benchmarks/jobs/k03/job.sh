export EPOCHS=8 PYTHONUNBUFFERED=1
torchrun --master-port 4203 --rdzv-backend static --nproc_per_node=2 --max-restarts=3 trainer.py
