rm -f pid.1 steps.1
(for i in $(seq 300); do sleep .2; [ -f steps.1 ] && [ $(wc -l < steps.1) -ge 3 ] && { kill -9 $(cat pid.1); break; }; done) &
python -u ablate.py
