export TMPDIR=/scratch/local/$USER/job_48213
bash run.sh
