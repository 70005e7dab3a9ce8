unset PYTHONUNBUFFERED
mkdir -p scratch
unshare -m bash -c 'mount -t tmpfs -o size=30m tmpfs scratch && torchrun --nproc-per-node 2 --master-port 4304 train.py; df -h scratch | tail -1'
echo "cleaned up, bye"
