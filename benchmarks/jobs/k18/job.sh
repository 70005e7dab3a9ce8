python train_vae.py
