python -c "
import random; random.seed(1)
w=['le','chat','est','sur','la','table']
open('corpus.txt','wb').write('\n'.join(' '.join(random.choices(w,k=8)) + (' caf\xe9' if i%401==5 else '') for i in range(800)).encode('latin-1'))"
python pipeline.py
