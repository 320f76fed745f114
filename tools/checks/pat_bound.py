"""A patch that does not reach modules which bound the name before.

``from module import name`` copies the reference. A module of upstream that did so before the plugin patched
``module.name`` keeps the original, and calls it. Nothing is raised: one caller runs the vendor's code, the
next runs upstream's.

Example: the plugin replaces ``fa_utils.get_version``; in the target ``mm_encoder_attention`` has
``from fa_utils import get_version`` and calls it. The encoder runs the original.

Cannot see: in which order modules are really imported. What upstream imports with the patched module is taken
as bound before; for the rest the finding says 'possible'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tools.checks.base import Context, Result
from tools.checks.pat_common import OTHER_DEVICE, applied, listed, original
from tools.code.records import Import, typing_only
from tools.code.world import Kind, Resolution
from tools.compare.patches import Patch, PatchKind
from tools.findings import Certainty, Severity

ID = "PAT004"
TITLE = "Patch that does not reach a module which bound the name"
SEVERITY = Severity.WARNING

_LOADER = "load_general_plugins"
"""What upstream calls to load the plugins: its callers' modules are imported by then."""
_KINDS = (PatchKind.DECORATOR, PatchKind.ASSIGNMENT, PatchKind.SETATTR)


def run(context: Context) -> Iterable[Result]:
    seen: set[str] = set()
    for patch in context.patches:
        if patch.kind not in _KINDS or "." in patch.attribute or patch.target in seen:
            continue
        found = original(context, patch)
        if found.kind not in (Kind.FUNCTION, Kind.CLASS):
            continue
        seen.add(patch.target)
        yield from _judged(context, patch, found)


def _judged(context: Context, patch: Patch, found: Resolution) -> Iterator[Result]:
    holders = dict(_holders(context, patch, found))
    if not holders:
        return
    earlier: set[str] = set()
    if context.before is not None:
        was = original(context.before, patch)
        earlier = {module for module, _ in _holders(context.before, patch, was)}
    loaded = loaded_before(context, patch)
    for fresh in (False, True):
        group = {m: i for m, i in holders.items() if (m not in earlier) == fresh or context.before is None}
        if not group or (fresh and context.before is None):
            continue
        early = {m: i for m, i in group.items() if m in loaded}
        yield _report(context, patch, found, early or group, fresh, bool(early))


def _holders(context: Context, patch: Patch, found: Resolution) -> Iterator[tuple[str, Import]]:
    """Modules of upstream that keep the original under a name of their own, and use it."""
    upstream = context.upstream
    name = patch.attribute
    sources = {(patch.target_module, name), (found.module, found.qualname)}
    for source in sorted(sources):
        for module, imported in upstream.importers.get(source, ()):
            if imported.scope or typing_only(imported.guard) or module == patch.target_module:
                continue
            if OTHER_DEVICE.search(module) or f"{module}.{imported.bound}" in context.patched:
                continue
            if context.world.member(module, imported.bound).id != found.id:
                continue
            if _used(context, module, imported):
                yield module, imported


def _used(context: Context, module: str, imported: Import) -> bool:
    """Called or subclassed outside functions that the plugin replaces."""
    for spelled in (imported.bound, f"{imported.bound}?"):
        for holder, call in context.upstream.calls_by_name.get(spelled, ()):
            if holder == module and call.callee == spelled and not _replaced(context, module, call.scope):
                return True
    return any(imported.bound in cls.bases for cls in context.upstream.modules[module].classes)


def _replaced(context: Context, module: str, scope: str) -> bool:
    while scope:
        if f"{module}.{scope}" in context.patched:
            return True
        scope = scope.rpartition(".")[0]
    return False


def loaded_before(context: Context, patch: Patch) -> frozenset[str]:
    """Modules imported before the patch, in some process: by the patched module's packages, or by the loader."""
    starts = []
    module = patch.target_module
    while module:
        starts.append(module)
        module = module.rpartition(".")[0]
    before = closure(context, tuple(starts))
    if patch.module.rpartition(".")[2] == "platform":
        return before  # imported long before the general plugins
    loaders = {m for m, c in context.upstream.calls_by_name.get(_LOADER, ()) if c.scope}
    return before | closure(context, tuple(sorted(loaders)))


def closure(context: Context, starts: tuple[str, ...]) -> frozenset[str]:
    """Every upstream module that importing ``starts`` imports at module level."""
    known = context.shared.setdefault(f"pat:closures:{context.role}", {})
    assert isinstance(known, dict)
    if starts in known:
        return known[starts]  # type: ignore[no-any-return]
    upstream = context.upstream
    pending = list(starts)
    seen: set[str] = set()
    while pending:
        module = pending.pop()
        if module in seen or module not in upstream.paths:
            continue
        seen.add(module)
        for imported in upstream.modules[module].imports:
            if imported.scope or typing_only(imported.guard):
                continue
            source = upstream.absolute(module, imported)
            pending += [source, f"{source}.{imported.name}"]
            while "." in source:
                source = source.rpartition(".")[0]
                pending.append(source)
    known[starts] = frozenset(seen)
    return known[starts]  # type: ignore[no-any-return]


def _report(
    context: Context,
    patch: Patch,
    found: Resolution,
    group: dict[str, Import],
    fresh: bool,
    loaded: bool,
) -> Result:
    since = f"; new in {context.version(context.role)}" if fresh else ""
    first = min(group)
    runs = applied(context, patch.module)
    return context.finding(
        ID,
        module=patch.module,
        line=patch.line,
        symbol=patch.scope,
        key=f"{patch.target}:new" if fresh else patch.target,
        severity=Severity.WARNING if loaded and runs else Severity.NOTE,
        certainty=Certainty.LIKELY if loaded else Certainty.POSSIBLE,
        message=f"the patch of `{patch.target}` does not reach {listed(sorted(group))}, which bound "
        f"`{found.qualname}` by `from … import` and {'call it' if len(group) > 1 else 'calls it'}{since}",
        trigger=f"what {listed(sorted(group), 2)} do",
        consequence="upstream's original runs there, the replacement elsewhere"
        + ("" if loaded else " (if the module is imported before the patch)"),
        suggestion="patch the name in "
        + ("these modules" if len(group) > 1 else "that module")
        + " too, or patch something that is looked up when it is called, such as a method",
        evidence=[
            context.cite(context.upstream, first, group[first].line),
            context.cite_definition(found),
        ],
        cause=f"{patch.target} bound by name",
        silent=True,
    )
