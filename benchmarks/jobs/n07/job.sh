torchrun --nproc-per-node 2 --master-port 4507 finetune.py $TINY 6 && head -c 30000 out/checkpoint-6/model.safetensors > t && mv t out/checkpoint-6/model.safetensors
torchrun --nproc-per-node 2 --master-port 4507 finetune.py $TINY 12
