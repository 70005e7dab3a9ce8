python make_docs.py
export DS_ACCELERATOR=cpu
python -m deepspeed.launcher.launch --world_info=$(python -c 'import base64;print(base64.urlsafe_b64encode(b"{\"localhost\": [0, 1]}").decode())') --node_rank=0 --master_addr=127.0.0.1 --master_port=4116 train_ds.py --deepspeed_config ds_config.json
