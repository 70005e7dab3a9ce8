port=41810
for lr in 0.5 0.01; do
  for w in 16 64; do
    port=$((port+1))
    echo "=== trial lr=$lr width=$w  ($(date '+%F %T'))"
    python launch.py -n 2 -p $port train.py --lr $lr --width $w 2>&1 | tee trial_${lr}_$w.log
  done
done
echo "=== summary"
grep -h RESULT trial_*.log | sort -t= -k4 -g
echo "trials: 4, failed: $(grep -l 'status=FAILED' trial_*.log | wc -l), best: $(grep -h 'status=ok' trial_*.log | sort -t= -k4 -g | head -1)"
