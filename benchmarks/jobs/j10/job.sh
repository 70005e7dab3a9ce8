mkdir -p scratch/node2
unshare -m bash -c 'mount -t tmpfs -o size=600k tmpfs scratch/node2 && python trainer.py'
