export OMP_NUM_THREADS=1
mkdir -p data
bash export_chat.sh
python pack.py && torchrun --nproc-per-node 2 --master-port 29617 train.py --data data/train.bin
echo "job ended with status $?"
