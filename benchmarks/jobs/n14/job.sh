(for i in $(seq 200); do sleep .2; l=$(grep -m1 'Schritt 3 ' worker1.log 2>/dev/null); [ -n "$l" ] && { kill -9 $(cat worker1.pid); break; }; done) &
python -u betreuer.py
