for i in $(seq 0 2); do
  python worker.py --rank $i > w$i.out 2>&1 &
done
wait
for i in 0 1 2; do echo "== w$i.out"; cat w$i.out; done
