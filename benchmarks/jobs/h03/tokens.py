class VocabularyOverflow(ValueError):
    pass

def encode(words, vocab, limit):
    ids = []
    for w in words:
        if w not in vocab:
            if len(vocab) >= limit:
                raise VocabularyOverflow(f"{w!r}: vocabulary holds {len(vocab)} of {limit} entries")
            vocab[w] = len(vocab)
        ids.append(vocab[w])
    return ids
