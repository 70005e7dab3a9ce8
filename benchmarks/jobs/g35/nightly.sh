echo "### 1. finetune"
python init_model.py
torchrun --nproc-per-node 2 --master-port 31775 finetune.py --epochs 2 --lr 2e-3 --warmup-ratio 3% --init base.pt --out tuned.pt 2>&1 | grep -v Warning
echo "### 2. evaluate"
python evaluate.py --models base.pt tuned.pt
echo "### 3. summary"
cat metrics.md
echo "nightly finished $(date +%F)"
