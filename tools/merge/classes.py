"""A class without its methods: bases, decorators, attributes, and methods that upstream added to a copied class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import libcst as cst

from tools.merge.nodes import Keys, Unreadable, parse_symbol
from tools.merge.structural import Merger, Renaming
from tools.merge.symbols import SymbolMerge, _vocabulary, lost_comments, rendered


@dataclass(frozen=True)
class ClassMerge:
    """The class merged, with its methods as the plugin has them."""

    merge: SymbolMerge
    added: tuple[str, ...]
    """Methods that upstream added."""


def merge_class(own: str, base: str, target: str, names: Mapping[str, str], *, copied: bool) -> ClassMerge:
    """Merge a class. A class that derives from its counterpart (``copied`` false) inherits what upstream added.

    Raises Unreadable.
    """
    module, mine = parse_symbol(own)
    old, new = parse_symbol(base)[1], parse_symbol(target)[1]
    classes = (mine, old, new)
    if not all(isinstance(c, cst.ClassDef) and isinstance(c.body, cst.IndentedBlock) for c in classes):
        raise Unreadable("not a class with a body of its own lines")
    vocabulary = _vocabulary(names, mine, old, new)
    if vocabulary:
        old, new = old.visit(Renaming(vocabulary)), new.visit(Renaming(vocabulary))  # type: ignore[assignment]
    own_methods, base_methods = _methods(mine), _methods(old)
    added = tuple(
        name for name in _methods(new) if name not in base_methods and name not in own_methods and copied
    )
    old, new = _with(old, own_methods, ()), _with(new, own_methods, added)
    merger = Merger(Keys())
    merged = merger.merge(mine, old, new)
    text = own if merged is mine else rendered(module, merged)
    untouched = merger.keys.meaning(mine) == merger.keys.meaning(old)
    lost = lost_comments(mine, old, merged)
    return ClassMerge(SymbolMerge(text, tuple(merger.notes), tuple(merger.clashes), untouched, lost), added)


def _methods(node: Any) -> dict[str, Any]:
    return {n.name.value: n for n in node.body.body if isinstance(n, cst.FunctionDef | cst.ClassDef)}


def _with(node: Any, own: Mapping[str, Any], added: tuple[str, ...]) -> Any:
    """The class with the plugin's methods in place of its own; those that the plugin has not are left out."""
    body = []
    for item in node.body.body:
        if not isinstance(item, cst.FunctionDef | cst.ClassDef):
            body.append(item)
        elif item.name.value in own:
            body.append(own[item.name.value])
        elif item.name.value in added:
            body.append(item)
    return node.with_changes(body=node.body.with_changes(body=body))
