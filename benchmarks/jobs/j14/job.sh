python tokens.py
rm -f tok/.s*
# nightly sync writes the same file in place
(until [ "$(cat tok/.s1 2>/dev/null || echo 0)" -ge 4 ] 2>/dev/null; do sleep 0.1; done; head -c 300000 /dev/urandom > tok/part1.bin) 2>/dev/null &
mpirun --allow-run-as-root --oversubscribe -np 3 python gpt.py
