"""What a path of an upstream repository is for: tests, another device, native code, what is installed beside it."""

from __future__ import annotations

import re
from enum import StrEnum


class Place(StrEnum):
    """One purpose of a file, as reasons say it."""

    PACKAGE = "the package"
    NATIVE = "native code"
    REQUIREMENT = "requirements"
    BUILD = "build files"
    TEST = "tests"
    DOCUMENTATION = "documentation"
    EXAMPLE = "examples and benchmarks"
    PROCESS = "continuous integration and project files"
    OTHER = "programs beside the package"


_OTHER_DEVICE = re.compile(
    r"(?:^|[/._-])(?:rocm|amd|aiter|hip|quickreduce|xpu|intel|ipex|tpu|cpu|hpu|gaudi|neuron|ppc64le|s390x|riscv|arm)(?:[/._-]|\d|$)"
    r"|(?:^|/)(?:skinny_gemms|cpu_\w+|\w+_cpu|\w+_rocm|rocm_\w+|\w+_xpu|xpu_\w+|aiter_\w+|\w+_aiter)\.",
    re.IGNORECASE,
)
_OFFLOAD = re.compile(r"offload")
"""Memory of the host serves every device."""
_NATIVE = re.compile(r"\.(?:cu|cuh|cpp|cc|cxx|c|h|hpp|inl|hip|cuh\.jinja|cu\.jinja)$|^csrc/")
_REQUIREMENT = re.compile(r"^requirements[^/]*(?:/.*)?\.(?:txt|in)$|^requirements[^/]*$")
_TEST_REQUIREMENT = re.compile(r"(?:^|[/_-])(?:test|tests|dev|lint|docs|doc|nightly)(?:[/_.-]|$)")
_BUILD = re.compile(
    r"^(?:pyproject\.toml|setup\.py|setup\.cfg|CMakeLists\.txt|MANIFEST\.in)$|^cmake/|\.cmake$"
)
_DOCUMENTATION = re.compile(r"^docs?/|\.(?:md|rst|ipynb|svg|png|jpe?g|gif|webp)$|^mkdocs|^LICENSE|^README")
_EXAMPLE = re.compile(r"^(?:examples?|benchmarks?|evals?)/")
_TEST = re.compile(r"^tests?/|(?:^|/)tests?/|(?:^|/)(?:test_\w+|conftest)\.py$")
_MODEL = re.compile(r"(?:model_executor/models|/models)/")


def place_of(path: str, package: str) -> Place:
    """The purpose of ``path``."""
    if path.startswith(f"{package}/"):
        return Place.PACKAGE
    if _TEST.search(path):
        return Place.TEST
    if _DOCUMENTATION.search(path):
        return Place.DOCUMENTATION
    if _EXAMPLE.match(path):
        return Place.EXAMPLE
    if _REQUIREMENT.search(path):
        return Place.TEST if _TEST_REQUIREMENT.search(path) else Place.REQUIREMENT
    if _BUILD.search(path):
        return Place.BUILD
    if _NATIVE.search(path):
        return Place.NATIVE
    if path.startswith((".", "docker", "tools/", ".buildkite/", ".github/")) or "/" not in path:
        return Place.PROCESS
    return Place.OTHER


def other_device(path: str) -> bool:
    """True for a file that serves a device which no NVIDIA-like platform uses."""
    return _OTHER_DEVICE.search(path) is not None and not _OFFLOAD.search(path)


def model_module(path: str, package: str) -> bool:
    """True for a file that implements a model."""
    return path.startswith(f"{package}/") and path.endswith(".py") and _MODEL.search(path) is not None


def module_of(path: str, package: str) -> str | None:
    """Dotted name of a Python file of the package; None for any other file."""
    if not path.startswith(f"{package}/") or not path.endswith(".py"):
        return None
    dotted = path[:-3].replace("/", ".").removesuffix(".__init__")
    return dotted if all(part.isidentifier() for part in dotted.split(".")) else None
