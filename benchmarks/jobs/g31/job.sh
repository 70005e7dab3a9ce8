python -u run_embed.py
