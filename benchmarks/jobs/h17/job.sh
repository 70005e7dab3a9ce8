python make_ckpt.py
# bring the files over to the new scratch
mkdir -p scratch/step_200
cp ckpt/step_200/optim_rank00.pt scratch/step_200/
head -c 131072 ckpt/step_200/optim_rank01.pt > scratch/step_200/optim_rank01.pt
deepspeed --num_gpus 2 --master_addr 127.0.0.1 --master_port 29827 resume.py --ckpt scratch/step_200
