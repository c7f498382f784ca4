"""Layers of a loaded model exchanged for faster ones that compute the same, to some 1e-6 of the result."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import nn

_ROWS = 512
"""Rows of input that packed weights are laid out for; other numbers work too."""


def exchange(model: nn.Module, *, pack: bool) -> None:
    """Exchanges layers of the model in place; `pack` lays float32 weights out for the matrix unit of the processor.

    On processors where MKL is slow with the layout of torch, packing gains up to a factor of two; where it is not, it
    gains on the large output layer. Weights are copied once and the original is dropped.
    """
    for name, layer in list(model.named_children()):
        faster = _faster(layer, pack=pack and can_pack())
        if faster is None:
            exchange(layer, pack=pack)
        else:
            setattr(model, name, faster)


def _faster(layer: Any, *, pack: bool) -> nn.Module | None:
    from torch import nn

    kind = type(layer).__name__
    if kind == "NewGELUActivation":
        return nn.GELU(approximate="tanh")
    if kind in ("T5LayerNorm", "MT5LayerNorm"):
        norm = nn.RMSNorm(layer.weight.shape[0], eps=layer.variance_epsilon)
        norm.weight = layer.weight
        return norm
    if pack and type(layer) is nn.Linear:
        return _packed_class()(layer)
    return None


@functools.cache
def can_pack() -> bool:
    """Whether this torch was built with oneDNN and its operators for packed weights."""
    import torch

    backend: Any = torch.backends.mkldnn
    return bool(backend.is_available()) and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")


@functools.cache
def _packed_class() -> type[nn.Module]:
    import torch
    from torch import nn

    class PackedLinear(nn.Module):
        """A linear layer whose weights lie as oneDNN reads them fastest."""

        def __init__(self, layer: nn.Linear) -> None:
            super().__init__()
            self.packed = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), _ROWS)
            self.bias = layer.bias
            self.weight = layer.weight.new_empty(0)  # models look at its dtype

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")
            return y

    return PackedLinear
