#!/bin/bash
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null' EXIT
python relay.py ghent 48236 48235 7 2>/dev/null &
sites=(turin ghent oslo); ports=(48235 48236 48235); pid=()
for r in 0 1 2; do SITE=${sites[$r]} RANK=$r STORE_PORT=${ports[$r]} python fedavg.py & pid+=($!); sleep 0.3; done
st=0
for r in 0 1 2; do wait ${pid[$r]}; c=$?; echo "${sites[$r]}: exit $c"; [ $c -ne 0 ] && st=1; done
exit $st
