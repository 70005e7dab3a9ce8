import re
def squeeze(s):
    return re.sub(r"\s+", " ", s)
