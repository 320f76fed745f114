"""An import inside the plugin whose module or name is gone.

Upgrades move the plugin's own files too, and files copied again from upstream lose the plugin's names. Type
checkers bury these among imports they cannot resolve anyway; at run time each stops its module like any other
failed import.

Example: ``vllm_metax/quant_config`` became ``vllm_metax/registry/quant_config``; one function still says
``from vllm_metax.quant_config.awq import X``. The path breaks when that function first runs.

Cannot see: modules the plugin's own build creates.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks._imports import broken_imports
from tools.checks.base import Context, Result
from tools.checks.imp_missing import report
from tools.findings import Severity

ID = "IMP002"
TITLE = "Import of a plugin module or name that is gone"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for broken in broken_imports(context):
        if broken.internal and broken.swallowed_by is None:
            yield report(context, ID, broken)
