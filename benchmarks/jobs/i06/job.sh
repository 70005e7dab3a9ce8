python prepare.py && head -c 900 etat/pas_000040.pt > etat/x && mv etat/x etat/pas_000040.pt
mpirun --allow-run-as-root --oversubscribe -np 3 --tag-output -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=41106 python entraine.py
