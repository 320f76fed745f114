"""A patched container changed its type.

The plugin appends to, updates or assigns into a container that upstream owns, and the target made that
container another type: a list became a tuple, a set a frozenset, a list a dict. The mutation raises while the
plugin is being loaded, or puts entries where nobody looks.

Example: the plugin has ``routing._BACKENDS.add("maca")``; in the target ``_BACKENDS`` is a tuple. Start-up
ends in ``AttributeError: 'tuple' object has no attribute 'add'``.

Cannot see: containers that are computed rather than written as a literal or a plain call.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.checks.pat_common import applied, original
from tools.code.records import Assign
from tools.code.world import Kind, Resolution
from tools.compare.patches import Patch, PatchKind
from tools.findings import Certainty, Severity

ID = "PAT005"
TITLE = "Patched container of another type"
SEVERITY = Severity.ERROR

_METHODS = {
    "list": frozenset({"append", "extend", "insert", "remove", "pop", "clear", "[]=", "+="}),
    "dict": frozenset({"update", "setdefault", "pop", "clear", "[]="}),
    "set": frozenset({"add", "update", "remove", "discard", "pop", "clear"}),
    "tuple": frozenset({"+="}),
    "frozenset": frozenset[str](),
    "MappingProxyType": frozenset[str](),
}
"""What each type can do of all that mutates."""
_CONSTRUCTORS = {
    "list": "list",
    "dict": "dict",
    "set": "set",
    "tuple": "tuple",
    "frozenset": "frozenset",
    "OrderedDict": "dict",
    "defaultdict": "dict",
    "MappingProxyType": "MappingProxyType",
}
_ALIKE = frozenset({frozenset({"list", "tuple"}), frozenset({"set", "frozenset"})})
"""Assigning one for the other keeps readers that iterate working."""


def run(context: Context) -> Iterable[Result]:
    for patch in context.patches:
        found = original(context, patch)
        if found.kind is not Kind.VALUE:
            continue
        assign = _assign(context, found)
        now = _type(assign)
        if assign is None or not now:
            continue
        if patch.kind is PatchKind.TABLE and patch.detail not in _METHODS[now]:
            yield _report(context, patch, found, now, loud=True)
        elif (
            patch.kind is PatchKind.ASSIGNMENT
            and patch.detail in _METHODS
            and patch.detail != now
            and frozenset({patch.detail, now}) not in _ALIKE
        ):
            yield _report(context, patch, found, now, loud=False)


def _assign(context: Context, found: Resolution) -> Assign | None:
    """The one binding of a container; several leave its type open."""
    tree = context.world.tree(found.module)
    if tree is None:
        return None
    space = tree.namespace(found.module)
    owner, _, name = found.qualname.rpartition(".")
    if owner:
        record = space.classes.get(owner)
        assigns = [a for a in record.assigns if a.name == name] if record else []
    else:
        bound = space.names.get(name)
        assigns = list(bound.assigns) if bound else []
    kinds = {_type(a) for a in assigns}
    return assigns[0] if len(kinds) == 1 else None


def _type(assign: Assign | None) -> str:
    if assign is None:
        return ""
    kind = assign.kind.removeprefix("call:").rpartition(".")[2]
    return _CONSTRUCTORS.get(kind, "")


def _report(context: Context, patch: Patch, found: Resolution, now: str, *, loud: bool) -> Result:
    before = ""
    if context.before is not None:
        before = _type(_assign(context.before, original(context.before, patch)))
    was = f", a {before} in {context.version('base')}" if before and before != now else ""
    message = f"`{patch.target}` is a {now} in {context.version(context.role)}{was}"
    runs = applied(context, patch.module)
    if loud:
        done = "item assignment" if patch.detail == "[]=" else f"`{patch.detail}`"
        message += f"; {done} does not work on it"
        error = "TypeError" if patch.detail in ("[]=", "+=") else "AttributeError"
        raised = f"'{now}' object has no attribute '{patch.detail}'"
        if error == "TypeError":
            raised = f"'{now}' object does not support {patch.detail}"
        consequence = f"{error}: {raised}" + (" when the plugin is loaded" if runs else "")
    else:
        message += f"; the plugin puts a {patch.detail} in its place"
        consequence = f"upstream reads it as a {now}: entries are not found, or reading raises"
    return context.finding(
        ID,
        module=patch.module,
        line=patch.line,
        symbol=patch.scope,
        key=f"{patch.target}:{patch.detail}",
        severity=(Severity.ERROR if loud else Severity.WARNING) if runs else Severity.NOTE,
        certainty=Certainty.CERTAIN if loud else Certainty.LIKELY,
        message=message,
        trigger="every start with the plugin" if loud and not patch.scope else f"using `{patch.target}`",
        consequence=consequence,
        suggestion=f"assign a new {now} to `{patch.target}`, or use the extension point that replaced it",
        evidence=[context.cite_definition(found)],
        cause=f"{found.id} type",
        silent=not loud,
    )
