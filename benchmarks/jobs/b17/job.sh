#!/bin/bash
set -m
python embed.py 2> >(tee train.log >&2) &
pid=$!
until [ "$(grep -c loss train.log 2>/dev/null)" -ge 6 ] 2>/dev/null; do sleep 0.5; done
kill -INT $pid
wait $pid
echo "exit status $?"
