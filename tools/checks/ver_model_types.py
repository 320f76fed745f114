"""The plugin tests one name where upstream's test takes several now.

Upstream tells models apart by strings: ``model_type in ("glm", "glm_next")`` where it was ``== "glm"``. Code
that was copied from there, or written after it, still tests the one value, so the new sibling takes the other
branch. Nothing is raised.

Example: the target adds ``"longcat_flash_ngram"`` beside ``"longcat_flash"``; five places of the plugin still
compare with ``"longcat_flash"`` alone, and the new model runs without its speculative layers.

Cannot see: whether the platform supports the sibling at all; that is for a person.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.tree import Tree
from tools.findings import Certainty, Severity

ID = "VER002"
TITLE = "A test of one name that upstream widened to several"
SEVERITY = Severity.WARNING

_SUBJECTS = ("model_type", "architecture", "arch")
"""Last words of what is compared."""
_QUOTED = re.compile(rb"[\"']([\w.-]+)[\"']")
_WINDOW = 700
"""Characters within which two strings can stand in one test."""


@dataclass(frozen=True, slots=True)
class Widened:
    """A test of the target: the names it takes, and those of them that base did not."""

    module: str
    line: int
    now: frozenset[str]
    added: frozenset[str]


def run(context: Context) -> Iterable[Result]:
    """One finding for every place, with all places of one widened test in the message."""
    if context.before is None:
        return
    sites: list[tuple[Scope, ast.Compare, frozenset[str]]] = []
    for module in sorted(context.plugin.modules):
        for scope in context.inference.scopes(module):
            for node in scope.all(ast.Compare):
                tested = _tested(node)
                if tested:
                    sites.append((scope, node, tested))
    found: dict[Widened, list[tuple[Scope, ast.Compare]]] = defaultdict(list)
    tests = list(_changed(context, frozenset(n for _, _, tested in sites for n in tested)))
    for scope, node, tested in sites:
        match = _best(tests, tested)
        if match is not None:
            found[match].append((scope, node))
    for widened, places in found.items():
        yield from (_finding(context, widened, scope, node, places) for scope, node in places)


def _best(tests: list[Widened], tested: frozenset[str]) -> Widened | None:
    """The upstream test most like the plugin's, when it took in new names."""
    alike = [(len(t.now & tested) / len(t.now | tested), t) for t in tests if t.now & tested]
    alike = [(score, t) for score, t in alike if len(t.now & tested) * 2 >= len(tested)]
    if not alike:
        return None
    best = max(alike, key=lambda pair: (pair[0], not pair[1].added, pair[1].module, -pair[1].line))[1]
    return best if best.added - tested else None


def _tested(node: ast.AST) -> frozenset[str]:
    """Strings that ``x.model_type`` is compared with."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return frozenset()
    right = node.comparators[0]
    if not isinstance(right, ast.Constant | ast.Tuple | ast.List | ast.Set):
        return frozenset()
    if not ast.unparse(node.left).strip("\"'])").endswith(_SUBJECTS):
        return frozenset()
    elements = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]
    if isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn):
        return frozenset(
            e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str)
        )
    return frozenset()


def _changed(context: Context, names: frozenset[str]) -> Iterator[Widened]:
    """Tests of the target about one of ``names``, in files where new names stand near them."""
    assert context.before is not None
    old, new = context.before.upstream, context.upstream
    encoded = [name.encode() for name in names]
    for module in sorted(new.paths) if names else ():
        if module not in old.paths or new.modules[module].error or old.modules[module].error:
            continue
        if new.snapshot.blob(new.paths[module]) == old.snapshot.blob(old.paths[module]):
            continue
        now = new.snapshot.read(new.paths[module])
        if b"model_type" not in now or not any(name in now for name in encoded):
            continue
        then = old.snapshot.read(old.paths[module])
        if not _near(now, set(_QUOTED.findall(now)) - set(_QUOTED.findall(then)), names):
            continue
        after = [(tested, line) for tested, line in _tests(new, module) if tested & names]
        before = list(_tests(old, module)) if after else []
        for tested, line in after:
            known = frozenset(t for was, _ in before if was & tested for t in was)
            yield Widened(module, line, tested, tested - known if known else frozenset())


def _near(content: bytes, added: set[bytes], names: frozenset[str]) -> bool:
    """Does a new string stand close to one of ``names``?"""
    known = {n.encode() for n in names}
    last_known = last_added = -_WINDOW
    for match in _QUOTED.finditer(content) if added else ():
        if match[1] in known:
            last_known = match.start()
        elif match[1] in added:
            last_added = match.start()
        else:
            continue
        if abs(last_known - last_added) < _WINDOW and min(last_known, last_added) >= 0:
            return True
    return False


def _tests(tree: Tree, module: str) -> Iterator[tuple[frozenset[str], int]]:
    for node in ast.walk(tree.syntax(module)):
        tested = _tested(node)
        if tested:
            yield tested, getattr(node, "lineno", 1)


def _finding(
    context: Context,
    widened: Widened,
    scope: Scope,
    node: ast.Compare,
    places: list[tuple[Scope, ast.Compare]],
) -> Result:
    where, path = context.version(context.role), context.upstream.paths[widened.module]
    added = ", ".join(f'"{a}"' for a in sorted(widened.added))
    like = ", ".join(f'"{a}"' for a in sorted(_tested(node) & widened.now)[:3])
    listed = ", ".join(f"`{context.plugin.paths[s.module]}:{n.lineno}`" for s, n in places)
    return context.finding(
        ID,
        module=scope.module,
        line=node.lineno,
        symbol=scope.qualname,
        key=f"{sorted(widened.added)} {ast.unparse(node)}",
        severity=Severity.WARNING,
        certainty=Certainty.LIKELY,
        silent=True,
        message=(
            f"{where} treats {added} like {like} (`{path}:{widened.line}`);"
            f" {len(places)} place(s) of the plugin test without: {listed}"
        ),
        trigger=f"a model with {added}",
        consequence="the new sibling takes the other branch and nothing is raised",
        suggestion=f"test {added} too, or reject such models early",
        evidence=[context.cite(context.upstream, widened.module, widened.line)],
        cause=f"{widened.module} widened to {added}",
    )
