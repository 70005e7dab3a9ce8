torchrun --nproc-per-node 2 --master-port 31707 pretrain.py --max-steps 6 --save-every 2
# node went down while step 6 was still being flushed
head -c 700 ckpts/step_000006.pt > ckpts/t && mv ckpts/t ckpts/step_000006.pt
torchrun --nproc-per-node 2 --master-port 31708 pretrain.py --max-steps 12 --save-every 2 --resume auto
