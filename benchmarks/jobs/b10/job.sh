mkdir -p logs
python make_ckpt.py
torchrun --nproc-per-node=2 --master-port=41720 --log-dir logs --redirects 3 train_intent.py > logs/launcher.log 2>&1
