"""One symbol merged: upstream's change from base to target, carried into the plugin's copy of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import libcst as cst

from tools.merge.nodes import Keys, Unreadable, parse_symbol, render
from tools.merge.structural import Clash, Merger, Note, Renaming

_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\r\n]*", re.M)


@dataclass(frozen=True)
class SymbolMerge:
    """``text`` is the plugin's symbol with the change; with clashes it holds the plugin's side of those."""

    text: str
    notes: tuple[Note, ...] = ()
    clashes: tuple[Clash, ...] = ()
    untouched: bool = False
    """The plugin's symbol does what base's does: a plain copy."""
    lost: tuple[str, ...] = ()
    """Comments that only the plugin had and the merged text has not."""


def merge_symbol(
    own: str, base: str, target: str, names: Mapping[str, str], local: Collection[str] = ()
) -> SymbolMerge:
    """Merge the texts of three definitions. ``names`` maps the plugin's names to upstream's.

    Upstream's code is read in the plugin's words where the copy uses them, or where the plugin's file defines them
    (``local``) and the copy does not use upstream's.

    Raises Unreadable when one of them is not one whole definition.
    """
    vocabulary = _vocabulary(names, own, base, target, frozenset(local))
    if own == base and not vocabulary:
        parse_symbol(target)
        if _indent(own) == _indent(target):
            return SymbolMerge(target, untouched=True)
    module, mine = parse_symbol(own)
    old, new = parse_symbol(base)[1], parse_symbol(target)[1]
    if vocabulary:
        old, new = old.visit(Renaming(vocabulary)), new.visit(Renaming(vocabulary))  # type: ignore[assignment]
    keys = Keys()
    merger = Merger(keys)
    merged = merger.merge(mine, old, new)
    text = own if merged is mine else rendered(module, merged)
    return SymbolMerge(
        text,
        tuple(merger.notes),
        tuple(merger.clashes),
        keys.meaning(mine) == keys.meaning(old),
        lost_comments(own, base, text),
    )


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def rendered(module: cst.Module, node: Any) -> str:
    """Text of a merged node. Raises Unreadable when no valid text comes of it."""
    try:
        text = render(module, node)
    except (cst.CSTValidationError, cst.ParserSyntaxError) as error:
        raise Unreadable(str(error)) from error
    parse_symbol(text)
    return text


def _vocabulary(
    names: Mapping[str, str], own: str, base: str, target: str, local: frozenset[str]
) -> dict[str, str]:
    """Upstream's name -> the plugin's."""
    words = frozenset(_WORD.findall(own))
    here = words | local
    there = frozenset(_WORD.findall(base)) | frozenset(_WORD.findall(target))
    return {
        theirs: mine
        for mine, theirs in names.items()
        if mine in here and theirs in there and theirs not in words
    }


def lost_comments(own: str, base: str, merged: str) -> tuple[str, ...]:
    """Comments of ``own`` that are neither in ``base`` nor, as often, in ``merged``."""
    known, kept = frozenset(_COMMENT.findall(base)), _COMMENT.findall(merged)
    lost = []
    for comment in _COMMENT.findall(own):
        if comment in kept:
            kept.remove(comment)
        elif comment not in known:
            lost.append(comment.strip())
    return tuple(lost)
