python3 slotd.py --queue short --wall 25 -- python3 diffuse.py --world 3
