gcc -O1 -shared -fPIC -o libfastpack.so fastpack.c
torchrun --nproc-per-node 4 --master-port 4126 train.py 2>&1
