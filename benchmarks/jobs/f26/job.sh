export OMP_NUM_THREADS=1
export PYTHONWARNINGS=ignore
torchrun --nproc-per-node 2 --master-port 29685 main.py --save ckpt/phase1 || exit 1
torchrun --nproc-per-node 2 --master-port 29685 main.py --hidden 96 --load ckpt/phase1 --save ckpt/phase2
