"""Where local models compute, in which precision, and what to say when torch is not installed."""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from claimeval.types.errors import UsageError, unknown_name

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16")
"""float16 is left out: the sums of T5 models overflow in it."""


class DeviceSettings(NamedTuple):
    """A device and a precision, both settled."""

    device: str
    """`cpu`, `cuda`, `cuda:1`, `mps`."""
    dtype: str

    @property
    def torch_dtype(self) -> torch.dtype:
        """The precision as torch names it."""
        import torch

        return torch.bfloat16 if self.dtype == "bfloat16" else torch.float32


def require(package: str) -> ModuleType:
    """The package, imported; UsageError that says what to install where it is absent."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise UsageError(f"models on this machine need {package}: pip install 'claimeval[local]'") from error


def choose(device: str = "auto", dtype: str = "float32") -> DeviceSettings:
    """The device and precision to use. `auto` is $CLAIMEVAL_DEVICE, else cuda, else mps, else cpu.

    Reduced precision is never chosen by itself: it changes scores. UsageError for a device that is not there.
    """
    require("torch")
    import torch

    if dtype not in DTYPES:
        raise unknown_name("precision", dtype, DTYPES)
    found = ["cpu"]
    if torch.cuda.is_available():
        found += ["cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        found.append("mps")
    if device == "auto":
        device = os.environ.get("CLAIMEVAL_DEVICE") or next(d for d in ("cuda", "mps", "cpu") if d in found)
    if device not in found:
        raise UsageError(f"no device {device!r} here. Found: {', '.join(found)}")
    return DeviceSettings(device, dtype)


def describe(setting: DeviceSettings) -> str:
    """Device and precision for a person: `cpu (2 threads), float32; bfloat16 is faster here, and less exact`."""
    import torch

    where = setting.device
    if where == "cpu":
        where += f" ({torch.get_num_threads()} threads)"
    elif where.startswith("cuda"):
        where += f" ({torch.cuda.get_device_name(where)})"
    hint = "; bfloat16 is faster here, and less exact" if setting.dtype == "float32" and _has_bfloat16(setting) else ""
    return f"{where}, {setting.dtype}{hint}"


def batch_tokens(setting: DeviceSettings) -> int:
    """Tokens in one batch, padding included: as many as keep the device busy, and no more than a small one holds."""
    import torch

    if setting.device == "cpu":
        return 768 * torch.get_num_threads()
    return 32_768 if setting.device.startswith("cuda") else 8_192


def _has_bfloat16(setting: DeviceSettings) -> bool:
    import torch

    if setting.device.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return setting.device == "cpu" and bool(torch.cpu.get_capabilities().get("avx512_bf16"))
