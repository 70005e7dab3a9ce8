torchrun --nproc-per-node 4 --master-port 4420 resume.py
# copy back from the object store, as the nightly job does
mkdir -p restore; for f in ckpt/step_8/*; do cp $f restore/; done
head -c 700000 ckpt/step_8/optim_03.pt > restore/optim_03.pt
printf 'ckpt: restore\nsteps: 8\nresume: true\n' > config.yaml
torchrun --nproc-per-node 4 --master-port 4421 --tee 3 --local-ranks-filter 0,1,2,3 resume.py
