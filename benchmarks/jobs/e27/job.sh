python ps.py --role learner --rank 0 & p0=$!
python ps.py --role actor --rank 1 --sampler prioritised & p1=$!
python ps.py --role actor --rank 2 --sampler prioritized & p2=$!
wait -n
code=$?
sleep 4
echo "job.sh: a process ended with code $code, stopping the rest"
kill $p0 $p1 $p2 2>/dev/null
wait
