mkdir -p nodeA/data nodeB/data logs
python -c "
import numpy as np
for r in range(4):
    np.random.randint(0,512,20000).astype(np.uint16).tofile(f'node{\"AABB\"[r]}/data/tokens_{r:02d}.bin')
"
mv nodeB/data/tokens_03.bin nodeA/data/
here=$PWD
(cd nodeB; NODE_NAME=worker-1 torchrun --nnodes 2 --node-rank 1 --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 21702 --redirects 3 --log-dir $here/ranks1 ../train.py > $here/logs/node1_agent.log 2>&1) &
(cd nodeA; NODE_NAME=worker-0 torchrun --nnodes 2 --node-rank 0 --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 21702 --redirects 3 --log-dir $here/ranks0 ../train.py > $here/logs/node0_agent.log 2>&1)
wait
for n in 0 1; do for l in 0 1; do
  cat ranks$n/*/attempt_0/$l/stdout.log ranks$n/*/attempt_0/$l/stderr.log > logs/node${n}_local$l.log
done; done
