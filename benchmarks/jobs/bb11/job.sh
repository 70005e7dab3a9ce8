mkdir -p logs
torchrun --nproc_per_node 2 --master_port 48441 fit.py > logs/launcher.log 2>&1
