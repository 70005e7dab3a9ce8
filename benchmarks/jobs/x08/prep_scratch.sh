mkdir -p scratch/0 scratch/1 scratch/2
# the third scratch volume has no room left
ln -sf /dev/full scratch/2/opt-000040.pt
