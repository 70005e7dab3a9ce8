from .clean import clean
