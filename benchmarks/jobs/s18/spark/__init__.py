from .trainer import Trainer
from .module import Encoder
from .data import TextData
