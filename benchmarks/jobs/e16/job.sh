rm -rf prompts
for d in 0 1 2; do mkdir -p prompts/round$d; for a in 0 1 2; do seq 1 $((20+a*d)) | sed 's/^/tell me about /' > prompts/round$d/actor$a.txt; done; done
rm prompts/round1/actor2.txt; mkfifo prompts/round1/actor2.txt
timeout 80 python rlhf.py 29736
