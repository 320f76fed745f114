"""A script copies a file of the plugin over a file of the installed upstream package.

Such a copy is a patch of a whole module that no Python code shows. It holds what upstream's file held in one
release; every name that later releases added or moved there is missing, and reinstalling upstream undoes it.

Example: ``cp acme/quant_init.py $SITE/vllm/model_executor/layers/quantization/__init__.py`` in ``install.sh``.
Target's own modules import a name from that package which the copied file does not define.

Cannot see: copies that are made by hand, and targets that a variable names entirely.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tools.checks.base import Context, Result
from tools.code.extract import extract
from tools.code.records import Module
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

ID = "LOD004"
TITLE = "File of upstream that a script replaces"
SEVERITY = Severity.WARNING

_SCRIPTS = (
    ".sh",
    ".bash",
    ".md",
    ".rst",
    "Makefile",
    "makefile",
    ".mk",
    "setup.py",
    ".dockerfile",
    ".Dockerfile",
)
_COPY = re.compile(
    r"(?:\b(?:cp|install|ln|rsync|mv)\b(?:\s+-\S+)*\s+|\b(?:copy|copyfile|copy2|COPY|ADD|move)\b[\s(]+)"
    r"[\"']?(?P<source>[\w./$\{\}-]+\.py)[\"']?[\s,]+[\"']?(?P<dest>[^\s\"',;&|)]+)"
)


@dataclass(frozen=True, slots=True)
class _Copy:
    path: str
    line: int
    text: str
    source: str
    module: str


def run(context: Context) -> Iterable[Result]:
    """Reads scripts of the plugin's project, then compares what they copy with upstream's own file."""
    for copy in _copies(context):
        yield _finding(context, copy)


def _copies(context: Context) -> Iterator[_Copy]:
    snapshot = context.plugin.snapshot
    for path in snapshot.paths():
        name = path.rpartition("/")[2]
        if not name.endswith(_SCRIPTS) and not name.startswith("Dockerfile"):
            continue
        content = snapshot.read(path)
        if f"{context.upstream.package}/".encode() not in content:
            continue
        for number, text in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            for match in _COPY.finditer(text):
                module = _target(context, match["source"], match["dest"])
                if module is not None and not text.lstrip().startswith("#"):
                    yield _Copy(path, number, text.strip(), match["source"], module)


def _target(context: Context, source: str, dest: str) -> str | None:
    """The upstream module that ``dest`` is the file of."""
    marker = f"/{context.upstream.package}/"
    if marker not in f"/{dest}" or ":" in dest:
        return None
    inside = f"/{dest}".rpartition(marker)[2]
    if not inside.endswith(".py"):
        inside = posixpath.join(inside, posixpath.basename(source))
    dotted = inside.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    module = context.upstream.package if dotted == "__init__" else f"{context.upstream.package}.{dotted}"
    known = module in context.upstream.paths
    base = context.before.upstream if context.before is not None else context.upstream
    return module if known or module in base.paths else None


def _names(record: Module) -> set[str]:
    names = {f.qualname for f in record.functions if "." not in f.qualname}
    names |= {c.qualname for c in record.classes if "." not in c.qualname}
    names |= {a.name for a in record.assigns} | {i.bound for i in record.imports if not i.scope}
    return names - {"*"}


def _finding(context: Context, copy: _Copy) -> Finding:
    upstream, where = context.upstream, context.version(context.role)
    ours = _copied(context, copy.source)
    theirs = upstream.modules.get(copy.module)
    lost: list[str] = []
    if ours is not None and theirs is not None:
        mine = _names(ours)
        lost = sorted(n for n in _names(theirs) - mine if (copy.module, n) in upstream.importers)
    message = (
        f"{copy.path} copies {copy.source} over {copy.module.replace('.', '/')} of the installed package"
    )
    if theirs is None:
        message += f"; {where} has no such file"
    elif lost:
        message += f"; the copy lacks {', '.join(lost[:8])}, which {where} imports from there"
    importer = upstream.importers[(copy.module, lost[0])][0] if lost else None
    evidence = [_cite(context, copy)]
    if importer is not None:
        evidence.append(context.cite(upstream, importer[0], importer[1].line))
    return Finding(
        id="F" + short_hash(ID, copy.path, "", copy.module),
        check=ID,
        path=copy.path,
        line=copy.line,
        symbol="",
        severity=Severity.WARNING if lost or theirs is None else Severity.NOTE,
        certainty=Certainty.LIKELY,
        introduced=True,
        message=message,
        trigger="an installation that ran the script",
        consequence=f"ImportError: cannot import name {lost[0]!r} from {copy.module!r}"
        if lost
        else "upstream's later changes to the file are hidden, and reinstalling upstream undoes the copy",
        suggestion="Replace the copy by a patch of the names concerned, applied by the plugin when it starts.",
        evidence=tuple(evidence),
        attribution=Attribution.REGRESSION,
        decision=Decision.MIGRATE,
        level=Level.SOURCE,
        cause=f"{copy.module} replaced by a file",
        silent=not lost,
    )


def _copied(context: Context, source: str) -> Module | None:
    """Records of the file that is copied, found by the longest tail of its path."""
    tail = source.rpartition("}")[2].lstrip("./").partition("$")[0] or posixpath.basename(source)
    paths = [p for p in context.plugin.snapshot.paths() if p == tail or p.endswith("/" + tail)]
    return extract(context.plugin.snapshot.read(paths[0]))[0] if len(paths) == 1 else None


def _cite(context: Context, copy: _Copy) -> str:
    content = context.plugin.snapshot.read(copy.path)
    digest = hashlib.sha256(content).hexdigest()
    key = "E" + short_hash("source", context.plugin.role, copy.path, str(copy.line), digest)
    context.evidence[key] = Evidence(
        id=key,
        kind="source",
        source=context.plugin.role,
        path=copy.path,
        lines=(copy.line, copy.line),
        sha256=digest,
        excerpt=copy.text,
    )
    return key
