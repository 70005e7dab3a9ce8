export OMP_NUM_THREADS=1
cp -r "$TINY" base
accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no dpo.py --model base
