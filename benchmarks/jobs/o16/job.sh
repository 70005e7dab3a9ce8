mkdir -p results
cp -r "$TINY" base
unshare -m bash -c 'mount -t tmpfs -o ro,size=10m results results && exec python sft.py --model base --output results/exp16'
