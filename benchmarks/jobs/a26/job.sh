rm -f rl.log
( until grep -q "actor 1 update *30" rl.log 2>/dev/null || [ $((n+=1)) -gt 300 ]; do sleep 0.2; done; kill $(sed -n 's/.*actor 1 pid \([0-9]*\) joined.*/\1/p' rl.log) ) &
python run_rl.py 2>&1 | tee rl.log
