from rapidnorm import squeeze

def clean(s):
    return squeeze(s.lower())
