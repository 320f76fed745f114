"""Calls that a chain passes over: builtins, containers, logging, and what merely arranges tensors."""

from __future__ import annotations

import ast
import builtins
import re

from tools.code.syntax import dotted

COMPUTE = re.compile(
    r"^torch\.(ops\.\w+\.\w+|_scaled_mm|matmul|mm|bmm|addmm|einsum|baddbmm|_int_mm|"
    r"nn\.functional\.(linear|embedding|scaled_dot_product_attention|silu|gelu))"
)
"""Functions of torch that compute; the others arrange."""
_BUILTINS = frozenset(dir(builtins)) - {"super"}
_IDLE_HEADS = frozenset(
    {"logger", "logging", "warnings", "os", "math", "json", "re", "np", "time", "field", "cast"}
)
_TENSOR = (
    "view reshape to size numel dim contiguous transpose permute t unsqueeze squeeze expand flatten float half",
    "bfloat16 int item tolist clone detach copy_ fill_ zero_ zeros empty ones full arange tensor stack cat pad",
    "is_contiguous stride unbind chunk narrow repeat masked_fill masked_fill_ new_empty new_zeros amax max min",
    "sum mean abs add_ mul_ div_ sub_ clamp clamp_ round any all numpy cpu cuda record_stream element_size type",
)
_OTHERS = (
    "append extend insert pop get items keys values update add remove join split format startswith endswith",
    "strip replace lower upper index count sort setdefault debug info warning info_once debug_once warning_once",
    "is_cuda is_rocm is_xpu is_cpu is_cuda_alike get_device_capability has_device_capability",
)
IDLE = frozenset(" ".join(_TENSOR + _OTHERS).split())
"""Names of tensor, container and logging methods: calls of them never lead to another definition here."""


def idle(func: ast.expr) -> bool:
    """Whether a call can be passed over unseen: there are ten of these for one that matters."""
    if isinstance(func, ast.Name):
        return func.id in _BUILTINS
    if not isinstance(func, ast.Attribute):
        return False
    if func.attr in IDLE and not (isinstance(func.value, ast.Name) and func.value.id in ("self", "cls")):
        return True
    name = dotted(func)
    if name.startswith("torch."):
        return not COMPUTE.match(name)
    return name.partition(".")[0] in _IDLE_HEADS
