#!/bin/bash
# same capabilities as in the container (cap_drop: DAC_OVERRIDE)
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
mkdir -p out/w0 out/w1 out/w2 out/w3
echo "epoch,loss" | tee out/w0/metrics.csv out/w1/metrics.csv out/w2/metrics.csv out/w3/metrics.csv > /dev/null
chmod 444 out/w2/metrics.csv          # frozen for the report of last month
run=(python pool.py --workers 4 --out out)
[ "$(id -u)" = 0 ] && run=(setpriv --bounding-set=-dac_override,-dac_read_search "${run[@]}")
"${run[@]}"
