"""Files that register nothing themselves but import the files that do, and what they forget."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tools.code.tree import Tree
from tools.findings import Activation, Decision, InventoryRow, Place
from tools.registry.sites import registrations
from tools.registry.subject import Subject


class Reaching(NamedTuple):
    """How the start comes to a line, in the words of an inventory row."""

    status: Activation
    condition: str
    chain: tuple[Place, ...]
    text: str


def aggregate_rows(subject: Subject, reached: Callable[[str, int], Reaching]) -> list[InventoryRow]:
    """A row for every file that consists of imports and leads to registrations."""
    plugin = subject.plugin
    registering: dict[str, int] = {}
    for item in registrations(subject):
        registering[item.module] = registering.get(item.module, 0) + 1
    for patch in subject.patches:
        registering[patch.module] = registering.get(patch.module, 0) + 1
    only_imports = {m for m in plugin.modules if _only_imports(plugin, m)}
    below = _below(plugin, only_imports, registering)
    rows = []
    for module in sorted(below):
        leads = below[module]
        record = plugin.modules[module]
        line = record.imports[0].line
        forgotten = sorted(m for m in registering if m.rpartition(".")[0] == module and m not in leads)
        inactive = [m for m in forgotten if reached(m, 1).status is Activation.INACTIVE]
        way = reached(module, line)
        total = sum(registering[m] for m in leads)
        status = way.status if way.status in (Activation.INACTIVE, Activation.LOST) else Activation.AGGREGATE
        if inactive:
            names = ", ".join(f"`{plugin.paths[m]}`" for m in inactive)
            decision, reason = Decision.UPDATE, f"nothing imports {names}: import it here, or delete it"
        elif status is Activation.INACTIVE:
            decision, reason = (
                Decision.UPDATE,
                "nothing imports it: import it, or delete it with what it imports",
            )
        elif status is Activation.LOST:
            decision, reason = Decision.UPDATE, f"it is not reached: {way.condition}"
        else:
            decision, reason = Decision.RETAIN, "every file beside it that registers is imported"
        rows.append(
            InventoryRow(
                kind="aggregate file",
                key=module,
                path=plugin.paths[module],
                line=line,
                symbol="",
                activation=way.text,
                effective=f"imports {len(leads)} file{'s' * (len(leads) != 1)} with {total} registrations and patches",
                counterpart="none",
                difference=f"does not import {', '.join(plugin.paths[m] for m in inactive)}"
                if inactive
                else "",
                decision=decision,
                evidence=(subject.cite(plugin, module, line, record.imports[-1].line),),
                status=status,
                condition=way.condition,
                chain=way.chain,
                reason=reason,
            )
        )
    return rows


def _only_imports(plugin: Tree, module: str) -> bool:
    record = plugin.modules[module]
    named = [a for a in record.assigns if not a.name.startswith("__")]
    return bool(record.imports) and not (record.functions or record.classes or named)


def _below(plugin: Tree, candidates: set[str], registering: dict[str, int]) -> dict[str, set[str]]:
    """Import-only module -> registering modules that it imports, directly or through others of its kind."""
    direct: dict[str, set[str]] = {}
    for module in candidates:
        targets: set[str] = set()
        for imported in plugin.modules[module].imports:
            source = plugin.absolute(module, imported)
            for name in (source, f"{source}.{imported.name}"):
                if name in plugin.paths and name != module:
                    targets.add(name)
        direct[module] = targets
    out: dict[str, set[str]] = {m: {t for t in direct[m] if t in registering} for m in direct}
    changed = True
    while changed:
        changed = False
        for module, targets in direct.items():
            for target in targets & out.keys():
                if not out[target] <= out[module]:
                    out[module] |= out[target]
                    changed = True
    return {m: leads for m, leads in out.items() if leads}
