# diverges with 50, stopped by hand after a few seconds; then with a sane one
setsid python -c "import signal,os,sys; signal.signal(signal.SIGINT, signal.default_int_handler); os.execvp('torchrun', ['torchrun','--nproc-per-node','2','--master-port','4212','train.py','50'])" &
P=$!
(sleep 8.5; kill -INT $P) &
wait $P
echo "^C  -- that was too high, now with 0.5"
torchrun --nproc-per-node 2 --master-port 4213 train.py 0.5
