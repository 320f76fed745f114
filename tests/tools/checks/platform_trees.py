"""A small platform package, upstream's and the plugin's, for tests of platform checks."""

from __future__ import annotations

from textwrap import dedent, indent

INTERFACE = """
class Platform:
    device_type = "cpu"

    def is_cuda(self):
        return self._enum == "cuda"

    def is_rocm(self):
        return self._enum == "rocm"

    @classmethod
    def check_and_update_config(cls, config):
        pass
"""
PLUGIN = {
    "platform.py": """
    from vllm.platforms.interface import Platform

    class MyPlatformBase(Platform):
        _enum = "oot"

        @classmethod
        def check_and_update_config(cls, config):
            config.block_size = 16

    class MyPlatform(MyPlatformBase):
        pass
    """
}


def member(text: str) -> str:
    """``text`` as part of a class body."""
    return indent(dedent(text), "    ")


def upstream(hook: str = "", cuda: str = "", **files: str) -> dict[str, str]:
    """Upstream with ``hook`` in the interface and ``cuda`` in the CUDA platform."""
    return {
        "platforms/__init__.py": "from vllm.platforms.interface import Platform\ncurrent_platform: Platform\n",
        "platforms/interface.py": INTERFACE + member(hook),
        "platforms/cuda.py": "from vllm.platforms.interface import Platform\n\nclass CudaPlatformBase(Platform):\n"
        + member("_enum = 'cuda'\n" + dedent(cuda))
        + "\nclass NvmlCudaPlatform(CudaPlatformBase):\n    pass\n",
        **{f"{name}.py": text for name, text in files.items()},
    }
