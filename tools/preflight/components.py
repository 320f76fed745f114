"""Components that vLLM and its plugins take from elsewhere: what they are called where."""

from __future__ import annotations

from tools.profiles import Profile

KNOWN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "compressed-tensors": (("compressed-tensors",), ("compressed_tensors",)),
    "DeepGEMM": (("deep-gemm", "deep_gemm_metax"), ("deep_gemm",)),
    "FlashAttention": (
        ("flash-attn", "flash-attn-3", "vllm-flash-attn"),
        ("flash_attn", "flash_attn_interface"),
    ),
    "FlashMLA": (("flash-mla",), ("flash_mla",)),
    "FlashInfer": (("flashinfer-python", "flashinfer", "flashinfer-cubin"), ("flashinfer",)),
    "MCOPLIB": (("mcoplib",), ("mcoplib",)),
    "Torch": (("torch",), ("torch",)),
    "Triton": (("triton", "pytorch-triton"), ("triton",)),
}
"""Label -> distributions, top-level imports. A distribution that provides an import is found under any name."""


def components_of(profile: Profile) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Those that every run looks at, and those that the profile names besides."""
    covered = {name for _, imports in KNOWN.values() for name in imports}
    others = {
        name: ((name.replace("_", "-"),), (name,)) for name in profile.components if name not in covered
    }
    return {**KNOWN, **others}
