"""Train a model of any family on pairs: `train.cross_encoder(pairs, "run", model="minilm-l6", epochs=2)`.

Each takes the pairs (from `make_pairs`), the new folder of the run, the model to start from, and its settings by name;
`resume` continues an interrupted run.

>>> train.cross_encoder("pairs", "run", model="minilm-l6", epochs=2)
"""

from __future__ import annotations

from rankwell.models.bi_encoder.training import train_bi_encoder as bi_encoder
from rankwell.models.cross_encoder.training import train_cross_encoder as cross_encoder
from rankwell.models.duo.training import train_duo as duo
from rankwell.models.language_model.training import train_mlm as mlm
from rankwell.models.linear.training import train_linear as linear
from rankwell.models.parade.training import train_parade as parade
from rankwell.models.review_rankers.training import train_architecture as architecture
from rankwell.training.families import resume_training as resume

__all__ = ["architecture", "bi_encoder", "cross_encoder", "duo", "linear", "mlm", "parade", "resume"]
