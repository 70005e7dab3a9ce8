set -e
echo "stage 1: vocab 500"; torchrun --nproc-per-node 2 --master-port 4634 stage.py --vocab 500 --save ckpt/stage1
echo "stage 2: extended vocab"; torchrun --nproc-per-node 2 --master-port 4634 stage.py --vocab 512 --load ckpt/stage1 --save ckpt/stage2
