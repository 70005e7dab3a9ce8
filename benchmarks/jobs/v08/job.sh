set -u
export PYTHONWARNINGS=ignore
mkdir -p ckpt/host0 ckpt/host1 ckpt/host2
# the scratch volume of host1 has run full over the weekend
ln -sf /dev/full ckpt/host1/optim-step0030.npz
ln -sf /dev/full ckpt/host1/optim-step0060.npz
python driver.py
