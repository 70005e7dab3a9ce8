python shards.py
torchrun --nproc_per_node 3 --master-port 41133 train_stream.py --data web
echo "collecting logs ... ok"
echo "uploading artifacts ... ok (0 files)"
echo "Good bye"
