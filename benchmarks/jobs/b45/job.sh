echo "host: node01  ranks: 3"
mpirun --allow-run-as-root --oversubscribe -n 3 python finetune.py --base_model $TINY --lr 1e-4 --lora_r 16 --num_epochs 3 --precision fp8
