unshare -m bash -c '
mkdir -p /mnt/e-scratch && mount -t tmpfs -o size=200m tmpfs /mnt/e-scratch
for i in 0 1 2 3; do mkdir /mnt/e-scratch/nvme$i; done
mount -t tmpfs -o size=7m tmpfs /mnt/e-scratch/nvme2
torchrun --nproc-per-node 4 --master-port 29720 --tee 3 train.py'
