N=(96 93 96)
for r in 0 1 2; do python contrastive.py --rank $r --world 3 --n ${N[$r]} & done
wait
