torchrun --nproc-per-node 2 --master-port 21751 train.py --steps 30
mkdir -p copy; head -c 150000 ckpt/step_30.pt > copy/step_30.pt
echo "--- continue on the new machine"
torchrun --nproc-per-node 2 --master-port 21752 train.py --steps 60 --out copy
