"""A vLLM of a few lines with the registries of the real one, and a plugin for it; both are really imported."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from tools.code.cache import CodeCache
from tools.code.tree import Tree
from tools.probes.subject import Source
from tools.profiles import load_profile
from tools.sources.spec import open_source

PROFILE = load_profile("metax")
VLLM = {
    "__init__.py": "",
    "plugins/__init__.py": """
        import logging
        from importlib.metadata import entry_points
        logger = logging.getLogger(__name__)
        plugins_loaded = False
        def load(group):
            found = {}
            for point in entry_points(group=group):
                try:
                    found[point.name] = point.load()
                except Exception:
                    logger.exception("Failed to load plugin %s", point.name)
            return found
        def load_general_plugins():
            global plugins_loaded
            if plugins_loaded:
                return
            plugins_loaded = True
            for function in load("vllm.general_plugins").values():
                function()
    """,
    "platforms/__init__.py": """
        import importlib
        from vllm.plugins import load
        class Platform: ...
        def __getattr__(name):
            if name != "current_platform":
                raise AttributeError(name)
            for function in load("vllm.platform_plugins").values():
                module, _, cls = function().rpartition(".")
                return getattr(importlib.import_module(module), cls)()
            return Platform()
    """,
    "model_executor/__init__.py": "",
    "model_executor/custom_op.py": """
        op_registry_oot = {}
        class CustomOp:
            @classmethod
            def register_oot(cls, op=None, name=None):
                def put(own):
                    op_registry_oot[name or cls.__name__] = own
                    return own
                return put if op is None else put(op)
        class SiluAndMul(CustomOp): ...
        class RMSNorm(CustomOp): ...
    """,
    "model_executor/layers/__init__.py": "",
    "model_executor/layers/quantization/__init__.py": """
        _CUSTOMIZED_METHOD_TO_QUANT_CONFIG = {}
        def register_quantization_config(name):
            def put(cls):
                _CUSTOMIZED_METHOD_TO_QUANT_CONFIG[name] = cls
                return cls
            return put
    """,
    "model_executor/models/__init__.py": "from vllm.model_executor.models.registry import ModelRegistry\n",
    "model_executor/models/registry.py": """
        class _Lazy:
            def __init__(self, module_name, class_name):
                self.module_name, self.class_name = module_name, class_name
        class _Registry:
            def __init__(self):
                self.models = {}
            def register_model(self, arch, path):
                self.models[arch] = _Lazy(*path.split(":"))
        ModelRegistry = _Registry()
    """,
    "ops.py": "def scale(x, factor):\n    return x\ndef fill(x):\n    return x\n",
    "user.py": "from vllm.ops import fill\ndef use(x):\n    return fill(x)\n",
}
PLUGIN = {
    "__init__.py": """
        def register():
            return "vllm_metax.platform.MacaPlatform"
        def register_all():
            import vllm_metax.quant
            import vllm_metax.ops
            import vllm_metax.models
    """,
    "platform.py": "from vllm.platforms import Platform\nclass MacaPlatform(Platform): ...\n",
    "quant.py": """
        from vllm.model_executor.layers.quantization import register_quantization_config
        @register_quantization_config("awq")
        class MacaAWQConfig: ...
    """,
    "ops.py": """
        from vllm.model_executor.custom_op import RMSNorm, SiluAndMul
        from vllm.ops import scale
        @SiluAndMul.register_oot
        class MacaSiluAndMul(SiluAndMul):
            def forward(self, x):
                return scale(x, 2)
    """,
    "models.py": """
        from vllm.model_executor.models import ModelRegistry
        ModelRegistry.register_model("Deep", "vllm_metax.deep:Deep")
    """,
    "deep.py": "class Deep: ...\n",
}
PROJECT = """
[project]
name = "vllm-metax"
version = "1.0"
[project.entry-points."vllm.platform_plugins"]
metax = "vllm_metax:register"
[project.entry-points."vllm.general_plugins"]
metax = "vllm_metax:register_all"
"""


def lay(folder: Path, package: str, files: dict[str, str]) -> Path:
    """Write ``files`` as ``package`` below ``folder``."""
    for name, text in files.items():
        place = folder / package / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(dedent(text), encoding="utf-8")
    return folder


def sources(
    folder: Path, plugin: dict[str, str] | None = None, vllm: dict[str, str] | None = None
) -> tuple[Source, Source]:
    """(plugin, vLLM), each with files added to those above or in their place."""
    own = lay(folder / "own", "vllm_metax", {**PLUGIN, **(plugin or {})})
    (own / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    theirs = lay(folder / "theirs", "vllm", {**VLLM, **(vllm or {})})
    return opened(str(own), "plugin"), opened(str(theirs), "target")


def opened(spec: str, role: str) -> Source:
    """A source as the command opens it."""
    package = PROFILE.plugin_package if role == "plugin" else PROFILE.upstream_package
    snapshot = open_source(
        spec, role=role, profile=PROFILE, python=None, cache=Path("/nonexistent"), offline=True
    )  # type: ignore[arg-type]
    return Source(Tree(snapshot, package, role, CodeCache(None)), installed=False)
