"""The four architectures by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from rankwell.core import ParameterError
from rankwell.rerank.architectures.dual_interaction import DualInteraction
from rankwell.rerank.architectures.example import QA, Architecture
from rankwell.rerank.architectures.interaction import Interaction
from rankwell.rerank.architectures.representation import Representation
from rankwell.rerank.architectures.triple_representation import TripleRepresentation

# Those that put query and document together can be told which document: QA or QTA.
TOGETHER: Mapping[str, Callable[[str], Architecture]] = MappingProxyType(
    {Interaction.kind: Interaction, DualInteraction.kind: DualInteraction}
)
APART: Mapping[str, Architecture] = MappingProxyType(
    {Representation.kind: Representation(), TripleRepresentation.kind: TripleRepresentation()}
)
ARCHITECTURES = (Interaction.kind, Representation.kind, DualInteraction.kind, TripleRepresentation.kind)


def architecture(kind: str, texts: str | None = None) -> Architecture:
    """One of the four; `texts` is QA (the default) or QTA where query and document are read together."""
    if kind in TOGETHER:
        return TOGETHER[kind](texts or QA)
    if kind not in APART:
        raise ParameterError("kind", expected=" or ".join(ARCHITECTURES), found=kind)
    found = APART[kind]
    if texts is not None:
        told = f"nothing, because {kind} reads {', '.join(found.inputs)} each on its own"
        raise ParameterError("texts", expected=told, found=texts)
    return found
