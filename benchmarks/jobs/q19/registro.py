# proceso aparte que guarda las métricas; si cae, el entrenamiento sigue
import json, sqlite3, sys
db = sqlite3.connect("metricas.db"); 
for linea in sys.stdin:
    m = json.loads(linea)
    db.execute("insert into metricas(paso, perdida) values (?, ?)", (m["paso"], m["perdida"])); db.commit()
