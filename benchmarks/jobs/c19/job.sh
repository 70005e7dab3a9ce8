mkdir -p nfs/models
export NFS=$PWD/nfs
unshare -m bash -c 'mount --bind nfs nfs && mount -o remount,ro,bind nfs && accelerate launch --cpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 29639 sft.py $TINY $NFS/models/sft-v1'
