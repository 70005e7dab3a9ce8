mkdir -p in
for r in 0 1 2 3; do yes "some words of text" | head -2000 > in/$r.txt; done
echo "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" >> in/2.txt
torchrun --nproc-per-node 4 --master-port 21835 build_index.py
