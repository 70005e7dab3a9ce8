unset PYTHONUNBUFFERED
set -e
echo "--- finetune"
torchrun --nproc-per-node 2 --master-port 4319 finetune_lora.py || true
echo "--- package"
mkdir -p adapter && cp config.yaml adapter/
tar cf adapter.tar adapter
ls -l adapter.tar | awk '{print $5, $9}'
echo "--- success: adapter.tar is ready for upload"
