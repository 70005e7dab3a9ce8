rm -rf ids
for r in 0 1 2; do mkdir -p ids/$r; for p in 0 1 2 3 4 5; do head -c 5000 /dev/urandom > ids/$r/part$p.bin; md5sum ids/$r/part$p.bin | cut -c1-8 > ids/$r/part$p.bin.md5; done; done
dd if=/dev/zero of=ids/1/part3.bin bs=512 count=1 seek=4 conv=notrunc status=none
export DS_ACCELERATOR=cpu
deepspeed --num_gpus 3 --master_addr 127.0.0.1 --master_port 29750 train.py --data ids
