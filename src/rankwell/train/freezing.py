"""Which weights stay as they are: none, the embeddings, the first layers, or all but the head."""

from __future__ import annotations

from typing import Any

from rankwell.core import ParameterError

NONE, HEAD, EMBEDDINGS, LAYERS = "none", "head", "embeddings", "layers:"
EXPECTED = "none, head (train the head only), embeddings, or layers:N (embeddings and the first N layers)"


def freeze(model: Any, what: str) -> int:
    """Keep weights as they are while the others are trained. Returns how many weights are trained.

    `head`: the embeddings and every layer are frozen; the pooler, where the model has one, and the classifier are
    trained. `layers:N`: the embeddings and the first N layers are frozen.
    """
    if what == EMBEDDINGS:
        _still(_embeddings(model))
    elif what == HEAD:
        _still(model.base_model)
        for name, module in model.base_model.named_children():
            module.requires_grad_(requires_grad=name == "pooler")
    elif what.startswith(LAYERS):
        _still(_embeddings(model), *_first_layers(model, what))
    elif what != NONE:
        raise ParameterError("freeze", expected=EXPECTED, found=what)
    return sum(weights.numel() for weights in model.parameters() if weights.requires_grad)


def transformer_layers(model: Any) -> list[Any]:
    """The layers of a model, first to last, whatever its authors call them.

    A model that uses one layer several times (ALBERT) has that one.
    """
    from torch.nn import ModuleList

    body = model.base_model
    lists = [module for module in body.modules() if isinstance(module, ModuleList)]
    wanted = int(getattr(model.config, "num_hidden_layers", 0))
    exact = [found for found in lists if len(found) == wanted]
    return list(exact[0] if exact else lists[0]) if lists else []


def _first_layers(model: Any, what: str) -> list[Any]:
    layers, told = transformer_layers(model), what.removeprefix(LAYERS)
    count = int(getattr(model.config, "num_hidden_layers", 0))
    if len(layers) != count:
        expected = "none, head or embeddings for a model whose layers share their weights"
        raise ParameterError("freeze", expected=expected, found=what)
    if not (told.isdecimal() and 1 <= int(told) <= count):
        raise ParameterError("freeze", expected=f"layers:1 to layers:{count} for this model", found=what)
    return layers[: int(told)]


def _embeddings(model: Any) -> Any:
    return getattr(model.base_model, "embeddings", None) or model.get_input_embeddings()


def _still(*modules: Any) -> None:
    for module in modules:
        module.requires_grad_(requires_grad=False)
