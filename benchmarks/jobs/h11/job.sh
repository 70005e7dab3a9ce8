mkdir -p scratch/local1
unshare -m bash -c 'mount -t tmpfs -o size=8m tmpfs scratch/local1 && torchrun --nproc-per-node 3 --master-port 29821 trainer.py'
