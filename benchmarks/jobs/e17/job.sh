for r in 2 1 0; do ( . env/n$r.sh; exec python train.py ) & sleep 0.3; done
wait
