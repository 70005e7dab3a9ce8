mkdir -p outputs
unshare -m sh -c 'mount -t tmpfs -o size=70m tmpfs outputs && exec torchrun --nproc-per-node 3 --master-port 21758 train_lm.py'
