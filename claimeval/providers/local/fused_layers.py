"""Layers of a loaded model exchanged for faster ones that compute the same, to some 1e-6 of the result."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch
    from torch import nn

_ROWS = 512
"""Rows of input that packed weights are laid out for; other numbers work too."""


def exchange(model: nn.Module, *, pack: bool) -> None:
    """Replace layers of the model in place; `pack` lays float32 weights out for the matrix unit of the processor.

    On processors for which MKL is slow with the layout of torch, packing gains up to a factor of two; on others, it
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
    if pack and kind.endswith("T5DenseGatedActDense") and type(layer.act).__name__ == "NewGELUActivation":
        return _packed().gated(layer)
    if kind == "NewGELUActivation":
        return nn.GELU(approximate="tanh")
    if kind.endswith("T5LayerNorm"):
        norm = nn.RMSNorm(layer.weight.shape[0], eps=layer.variance_epsilon)
        norm.weight = layer.weight
        return norm
    if pack and type(layer) is nn.Linear:
        return _packed().linear(layer)
    return None


@functools.cache
def can_pack() -> bool:
    """Return whether this torch was built with oneDNN and its operators for packed weights."""
    import torch

    backend: Any = torch.backends.mkldnn
    return bool(backend.is_available()) and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")


class _Packed(NamedTuple):
    """Layers over oneDNN's operators; their classes are made when torch is imported."""

    linear: Callable[[nn.Linear], nn.Module]
    gated: Callable[[Any], nn.Module]


@functools.cache
def _packed() -> _Packed:
    import torch
    from torch import nn

    class Linear(nn.Module):
        """A linear layer whose weights lie as oneDNN reads them fastest."""

        def __init__(self, layer: nn.Linear) -> None:
            super().__init__()
            self.packed = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), _ROWS)
            self.bias = layer.bias
            self.weight = layer.weight.new_empty(0)  # models look at its dtype

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Apply the layer."""
            y: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")
            return y

    class Gated(nn.Module):
        """The feed-forward part of T5: wo(gelu(wi_0 x) * wi_1 x), GELU and product computed where the sums are made."""

        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.gate, self.up, self.down = Linear(layer.wi_0), Linear(layer.wi_1), Linear(layer.wo)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Apply the layers."""
            linear = torch.ops.mkldnn._linear_pointwise
            gate = linear(x, self.gate.packed, self.gate.bias, "gelu", [], "tanh")
            y: torch.Tensor = self.down(linear(x, gate, self.up.packed, self.up.bias, "mul"))
            return y

    return _Packed(Linear, Gated)
