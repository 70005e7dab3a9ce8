mkdir -p out
python stage.py pretrain || exit 1
# the copy from the old volume is limited in size, the big file is never that large
head -c 300000 out/last.pt > out/resume.pt
torchrun --nproc_per_node=2 --master_port=48429 stage.py sft
