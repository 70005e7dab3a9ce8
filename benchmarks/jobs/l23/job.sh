unset PYTHONUNBUFFERED
rm -rf logs
torchrun --nproc-per-node 4 --master-port 4323 --log-dir logs --redirects 3 train.py > launcher.log 2>&1
mv launcher.log logs/
