: "${WANDB_PROJECT:=tinylm}"
export WANDB_PROJECT
python train.py --max_steps 20 --output_dir out --report_to wandb --logging_steps 5 --run_name lr5e-4
