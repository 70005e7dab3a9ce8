unset PYTHONUNBUFFERED
mkdir -p models
unshare -m bash -c 'mount -t tmpfs -o ro,size=20m registry models; torchrun --nproc-per-node 2 --master-port 4311 train.py'
echo "Model card: models/assistant-v2/README.md"
echo "Finished."
