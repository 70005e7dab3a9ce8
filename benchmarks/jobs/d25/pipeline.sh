p=41850; declare -A st
for s in warmup compile main anneal; do
  p=$((p+1)); echo ">>> stage $s"
  if python launch.py -n 2 -p $p stage_train.py $s 2>&1; then st[$s]=ok; else
    st[$s]=failed; [ $s = compile ] && echo ">>> stage $s is optional, continuing without it" || { echo ">>> stage $s failed"; exit 1; }
  fi
done
for s in warmup compile main anneal; do echo "stage $s: ${st[$s]}"; done
echo "PIPELINE OK"
