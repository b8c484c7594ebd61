"""ONNX files as other programs write them: a BERT traced by torch, and int8 of it with the full range of a byte."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
FEW = {
    "vocab_size": 120,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


def write_bert(file: Path, *, labels: int = 1, **config: int) -> dict[str, object]:
    """Trace a random cross-encoder into a file. Returns its weights by name."""
    import torch
    import transformers

    torch.manual_seed(3)
    shape = transformers.BertConfig(**{**FEW, **config}, num_labels=labels, initializer_range=0.2)
    model = transformers.BertForSequenceClassification(shape).eval()
    with torch.no_grad():
        for weight in model.parameters():  # biases begin as zeros, and no two trained ones are alike
            weight.add_(0.05 * torch.randn_like(weight))
    example = torch.randint(5, 100, (2, 16))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (example, torch.ones_like(example), torch.zeros_like(example)),
            str(file),
            input_names=list(INPUTS),
            output_names=["logits"],
            dynamic_axes={name: {0: "pairs", 1: "tokens"} for name in INPUTS},
            opset_version=14,
            dynamo=False,
        )
    return {name: value.numpy() for name, value in model.state_dict().items()}


def quantise_fully(source: Path, target: Path, *, per_channel: bool = False, attention: bool = False) -> Path:
    """int8 as most programs make it: every matrix and table, with all 8 bits; with `attention` its products too."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.disable(logging.WARNING)
    try:
        options = {"MatMulConstBOnly": not attention}
        quantize_dynamic(source, target, per_channel=per_channel, weight_type=QuantType.QInt8, extra_options=options)
    finally:
        logging.disable(logging.NOTSET)
    return target
