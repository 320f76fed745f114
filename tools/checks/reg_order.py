"""A module that registers something is imported by nobody, although its siblings are.

Registration is a side effect of being imported. When a package is split or a file is added, its ``__init__``
must import the new file; nothing fails when it does not, the registry is just one entry short.

Example: ``kernels/__init__.py`` imports ``mixed`` and ``fp8`` but not ``int8``, which calls
``register_linear_kernel``: every int8 model finds no kernel for the platform.

Cannot see: modules that something outside the plugin imports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.code.records import Import, typing_only
from tools.findings import Attribution, Certainty, Severity
from tools.registry.effective import rivals
from tools.registry.outcomes import How
from tools.registry.sites import CUSTOM_OP, LINEAR_KERNEL, QUANTIZATION, Registration, registrations
from tools.registry.startup import startup_of

ID = "REG005"
TITLE = "Registering module that nothing imports"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    """Judges modules whose package imports others at start."""
    startup = startup_of(context)
    by_module: dict[str, list[Registration]] = defaultdict(list)
    for item in registrations(context):
        if item.kind in (CUSTOM_OP, LINEAR_KERNEL, QUANTIZATION):
            by_module[item.module].append(item)
    for module, items in sorted(by_module.items()):
        if startup.reached(module, items[0].line).how is not How.NEVER:
            continue
        package, sibling = _sibling(context, module)
        if sibling is not None:
            yield _finding(context, module, items, package, sibling)


def _sibling(context: Context, module: str) -> tuple[str, Import | None]:
    """The nearest package above that is imported at start, and its last import of another module in it."""
    started = startup_of(context).clean.execution.modules
    package = module.rpartition(".")[0]
    while package and package not in started:
        package = package.rpartition(".")[0]
    imports = (
        [
            i
            for i in context.plugin.modules[package].imports
            if not i.scope
            and not typing_only(i.guard)
            and f"{context.plugin.absolute(package, i)}.{i.name}" in started
        ]
        if package in context.plugin.modules
        else []
    )
    own = [i for i in imports if context.plugin.absolute(package, i) == package]
    return package, own[-1] if own else None


def _finding(
    context: Context, module: str, items: list[Registration], package: str, sibling: Import
) -> Result:
    what = ", ".join(sorted({f"{i.kind} {i.key or '(computed)'}" for i in items}))
    kernels = {i.key.split(" ")[0] for i in items if i.kind == LINEAR_KERNEL}
    others = {key.split(" ")[0] for kind, key in rivals(context) if kind == LINEAR_KERNEL}
    alone = kernels - others
    # A name in a comment of the package says that somebody left it out on purpose.
    comment = _commented(context, package, module)
    silent = not alone
    child = module.removeprefix(package + ".").partition(".")[0]
    return context.finding(
        ID,
        module=package,
        line=sibling.line,
        symbol="",
        key=module,
        severity=Severity.NOTE if comment else Severity.ERROR if alone else Severity.WARNING,
        certainty=Certainty.CERTAIN,
        message=f"{package} imports {sibling.name} but not {child}, which registers {what}",
        trigger=f"models that need {what}",
        consequence=f"no {', '.join(sorted(alone))} kernel is registered for the platform: selection raises"
        if alone
        else "upstream's own implementation is used instead, and nothing is logged",
        suggestion=f"Import {child} in {context.plugin.paths[package]}.",
        evidence=[context.cite(context.plugin, items[0].module, items[0].line)],
        cause=f"{module} not imported",
        silent=silent,
        attribution=Attribution.EXISTING,
    )


def _commented(context: Context, package: str, module: str) -> bool:
    name = module.rpartition(".")[2]
    return any(name in text.partition("#")[2] for text in context.plugin.lines(package))
