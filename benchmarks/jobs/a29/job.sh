unshare -m sh -c 'mount -t tmpfs -o size=24m tmpfs /dev/shm && exec torchrun --nproc-per-node 2 --master-port 21814 train_seg.py'
