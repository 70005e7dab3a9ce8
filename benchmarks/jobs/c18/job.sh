CG=/sys/fs/cgroup/memory/train_$$
mkdir $CG && echo 1600M > $CG/memory.limit_in_bytes
( echo $BASHPID > $CG/tasks; exec torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29638 train.py )
sleep 1; rmdir $CG
