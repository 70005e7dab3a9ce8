python launch.py -n 2 -p 41821 -m trl.trainer.sft_trainer sft.py $TINY
