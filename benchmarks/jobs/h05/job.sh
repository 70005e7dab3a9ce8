mkdir -p logs
for r in 0 1 2; do
  ( if [ -f node$r.env ]; then . ./node$r.env; else . ./node.env; fi
    RANK=$r python ddp_main.py > logs/rank_$r.log 2>&1 ) &
done
wait
