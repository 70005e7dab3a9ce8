from fasttok import count_tokens
def lengths(docs):
    return [count_tokens(d) for d in docs]
