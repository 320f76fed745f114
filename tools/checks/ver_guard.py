"""A version guard that is inverted, or that can go.

A plugin that serves two releases asks for the version. The branch that runs on the target must fit the target:
where it names or calls what only the other release has, and the other branch fits, the guard is the wrong way
round. A guard for a release older than both is code nobody runs.

Example: ``if vllm_version_is("1.0"): f(x, new=1)`` with ``else: f(x)``, while ``new`` exists in 2.0 only:
TypeError on both releases.

Cannot see: tests other than ``…version_is("x")`` and comparisons of upstream's version with ``Version("x")`` or text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from packaging.version import InvalidVersion, Version

from tools.checks.base import Context, Result
from tools.code.constructor import constructor
from tools.code.guards import holds
from tools.code.infer import Form, Scope
from tools.code.signature import Arguments, bind, keeps_signature, without_receiver
from tools.code.syntax import dotted
from tools.findings import Attribution, Certainty, Decision, Severity

ID = "VER001"
TITLE = "A version guard that is inverted or can go"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    """Findings for ``if`` statements that ask for the release of upstream."""
    if context.before is None:
        return
    package, target, base = context.profile.upstream_package, _version(context), _version(context.before)
    if target is None or base is None:
        return
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for node in scope.nodes:
                if isinstance(node, ast.If):
                    now, then = holds(node.test, target, package), holds(node.test, base, package)
                    if now is not None and then is not None:
                        yield from _judge(context, scope, node, now, then)


def _version(context: Context) -> Version | None:
    try:
        return Version(context.upstream.snapshot.identity.version or "")
    except InvalidVersion:
        return None


def _judge(context: Context, scope: Scope, node: ast.If, now: bool, then: bool) -> Iterator[Result]:
    assert context.before is not None
    live, dead = (node.body, node.orelse) if now else (node.orelse, node.body)
    wrong = list(_misfits(context, scope, live))
    if wrong and dead and not list(_misfits(context, scope, dead)) and now != then:
        line, what = wrong[0]
        where = context.version(context.role)
        yield context.finding(
            ID,
            module=scope.module,
            line=node.lineno,
            symbol=scope.qualname,
            key=f"inverted {ast.unparse(node.test)}",
            severity=Severity.ERROR,
            certainty=Certainty.LIKELY,
            attribution=Attribution.EXISTING,
            message=(
                f"the guard `{ast.unparse(node.test)}` is inverted: the branch that runs on {where} {what}"
                f" (line {line}), and the branch for the other release fits {where}"
            ),
            trigger=f"running `{scope.qualname or scope.module}` on {where}",
            consequence="ImportError or TypeError on both releases",
            suggestion="swap the two branches, or negate the test",
            evidence=[context.cite(context.plugin, scope.module, node.lineno, node.end_lineno)],
        )
    elif not now and not then:
        yield context.finding(
            ID,
            module=scope.module,
            line=node.lineno,
            symbol=scope.qualname,
            key=f"stale {ast.unparse(node.test)}",
            severity=Severity.NOTE,
            certainty=Certainty.CERTAIN,
            decision=Decision.REMOVE,
            message=f"the guard `{ast.unparse(node.test)}` holds neither on base nor on target and can go",
            trigger="none: the branch never runs",
            consequence="none; dead code that readers take for live",
            suggestion="remove the branch when the release it serves is no longer supported",
            evidence=[],
        )


def _misfits(context: Context, scope: Scope, body: Sequence[ast.stmt]) -> Iterator[tuple[int, str]]:
    """(line, what is wrong) of imports and calls in ``body`` that the context's upstream cannot serve."""
    local = {
        a.asname or a.name
        for s in body
        for n in ast.walk(s)
        if isinstance(n, ast.ImportFrom)
        for a in n.names
    }
    for stmt in body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                for alias in node.names:
                    if alias.name != "*" and not context.world.member(node.module, alias.name).found:
                        yield (
                            node.lineno,
                            f"imports `{alias.name}` from `{node.module}`, which has no such name",
                        )
            elif isinstance(node, ast.Call) and dotted(node.func).partition(".")[0] not in local:
                problem = _call(context, scope, node)
                if problem:
                    yield node.lineno, problem


def _call(context: Context, scope: Scope, node: ast.Call) -> str:
    found = context.inference.of(node.func, scope)
    if found is None or context.world.tree(found.ref.module) is not context.upstream:
        return ""
    if found.form is Form.CLASS:
        made = constructor(context.world, found.ref)
        params = made.params if made is not None else None
    elif found.form in (Form.FUNCTION, Form.METHOD):
        function = context.world.function_record(found.ref)
        if function is None or not keeps_signature(function):
            return ""
        params = without_receiver(function) if found.form is Form.METHOD else function.params
    else:
        return ""
    star = any(isinstance(a, ast.Starred) for a in node.args)
    given = Arguments(
        len(node.args) - sum(isinstance(a, ast.Starred) for a in node.args),
        tuple(k.arg for k in node.keywords if k.arg is not None),
        star,
        any(k.arg is None for k in node.keywords),
    )
    problems = bind(params, given) if params is not None else ()
    return f"calls `{found.ref.qualname}` in a way it does not accept there" if problems else ""
