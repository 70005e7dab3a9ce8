mkdir -p fast
unshare -m bash -c 'mount -t tmpfs -o size=256k tmpfs fast && torchrun --nproc-per-node 2 --master-port 31778 train_gnn.py --cache-dirs fast spill'
echo "return code $?"
