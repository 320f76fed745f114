"""A test of the plugin patches an upstream name that the target does not have.

``mock.patch("vllm.a.b")`` and ``monkeypatch.setattr("vllm.a.b", …)`` name their target by string, so no import
statement shows it. When upstream moves or renames it, the test stops at the patch, not at what it tests.

Example: a test has ``@patch("vllm.layers.FusedMoE")``; the target renamed it ``FusedMoEFactory``.

Cannot see: names put together at run time, and attributes of what lies in neither package.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator

from tools.checks.base import Context, Result
from tools.code.syntax import dotted, parse
from tools.code.world import Kind
from tools.compare.moves import where_went
from tools.findings import (
    Attribution,
    Certainty,
    Decision,
    Evidence,
    Finding,
    Level,
    Severity,
    short_hash,
)

ID = "PAT008"
TITLE = "Test patches a name that the target does not have"
SEVERITY = Severity.WARNING

_CALLS = frozenset({"patch", "setattr", "delattr"})
_TEST = re.compile(r"(^|/)(tests?|conftest\.py$|test_[^/]*\.py$)")


def run(context: Context) -> Iterable[Result]:
    for path, content in _files(context):
        try:
            root = parse(content)
        except (SyntaxError, ValueError):
            continue
        for line, target in _targets(root, context.profile.upstream_package + "."):
            found = context.world.path(target)
            if found.kind is Kind.MISSING:
                yield _report(context, path, content, line, target)


def _files(context: Context) -> Iterator[tuple[str, bytes]]:
    """Test files of the project that patch something, read once for both runs."""
    key = "pat:test-files"
    known = context.plugin.__dict__.get(key)
    if known is None:
        known = []
        for path in context.plugin.snapshot.paths():
            if path.endswith(".py") and _TEST.search(path):
                content = context.plugin.snapshot.read(path)
                quoted = any(
                    q + context.profile.upstream_package.encode() + b"." in content for q in (b'"', b"'")
                )
                if quoted and (b"patch(" in content or b"attr(" in content):
                    known.append((path, content))
        context.plugin.__dict__[key] = known
    yield from known


def _targets(root: ast.Module, prefix: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(root):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        first = node.args[0]
        if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
            continue
        if dotted(node.func).rpartition(".")[2] in _CALLS and first.value.startswith(prefix):
            yield first.lineno, first.value


def _report(context: Context, path: str, content: bytes, line: int, target: str) -> Finding:
    where, told = "", "drop the patch, or name what the tested code calls now"
    if context.before is not None:
        module, _, name = target.rpartition(".")
        was = context.before.world.path(target)
        if was.kind not in (Kind.MISSING, Kind.MODULE):
            # Classes and modules both read as dots: split where base's module ends.
            module = target
            while module not in context.before.upstream:
                module = module.rpartition(".")[0]
            name = target[len(module) + 1 :]
        went = where_went(context.before.upstream, context.upstream, module, name)
        if went.found and went.dotted != target:
            where, told = f"; it is now `{went.dotted}` ({went.how})", f'patch "{went.dotted}"'
    evidence = _cite(context, path, content, line)
    return Finding(
        id="F" + short_hash(ID, path, "", target),
        check=ID,
        path=path,
        line=line,
        symbol="",
        severity=Severity.WARNING if _had(context, target) else Severity.NOTE,
        certainty=Certainty.CERTAIN,
        introduced=True,
        message=f'"{target}" does not exist in {context.version(context.role)}{where}',
        trigger="running the plugin's tests",
        consequence=f"AttributeError or ModuleNotFoundError: the test cannot patch {target}",
        suggestion=told,
        evidence=(evidence,),
        attribution=Attribution.REGRESSION,
        decision=Decision.UPDATE,
        level=Level.SOURCE,
        cause=f"{target.rpartition('.')[0]} lost names",
    )


def _had(context: Context, target: str) -> bool:
    """True when base has it; a test that fails against base too says nothing of the upgrade."""
    return context.before is not None and context.before.world.path(target).kind is not Kind.MISSING


def _cite(context: Context, path: str, content: bytes, line: int) -> str:
    digest = hashlib.sha256(content).hexdigest()
    lines = content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    evidence = "E" + short_hash("source", "plugin", path, str(line), str(line), digest)
    context.evidence[evidence] = Evidence(
        id=evidence,
        kind="source",
        source="plugin",
        path=path,
        lines=(line, line),
        sha256=digest,
        excerpt=lines[line - 1],
    )
    return evidence
