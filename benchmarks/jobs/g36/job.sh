rm -rf logs; mkdir logs; touch .keeplogs
( until grep -q 'iter 3 ' logs/*/*/2/stdout.log 2>/dev/null; do sleep .2; done; kill -9 $(cat worker2.pid) ) &
torchrun --nproc-per-node 4 --master-port 31776 --log-dir logs --redirects 3 train_rec.py > logs/launcher.log 2>&1
echo "epilogue: torchrun status $?" >> logs/launcher.log
echo "epilogue: syncing logs to object store ... ok" >> logs/launcher.log
echo "epilogue: releasing reservation ... ok" >> logs/launcher.log
echo "epilogue: complete" >> logs/launcher.log
