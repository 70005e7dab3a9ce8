LIMITE_S=4 python entrenar.py; echo "código de salida: $?"
