"""The sizes of the models of lockstep_worker.py, for tests that import no torch."""

WIDTH, INNER, EXPERTS, CHOSEN, LAYERS, WORDS, LENGTH = 64, 32, 32, 2, 3, 128, 24
EXPERT_ELEMENTS = 3 * WIDTH * INNER
