unset PYTHONUNBUFFERED
setsid python -c "import signal,os,sys; signal.signal(signal.SIGINT, signal.default_int_handler); os.execvp('torchrun', sys.argv[1:])" torchrun --nproc-per-node 2 --master-port 4324 train.py &
P=$!
( sleep 16; kill -INT $P ) &
wait $P
echo "Everything saved. Good night."
