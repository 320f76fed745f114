"""What a commit changes beside Python symbols: requirements, native code and its op schemas, the table of models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from packaging.requirements import InvalidRequirement, Requirement

from tools.findings import Certainty, Meaning
from tools.history.places import Place, other_device, place_of
from tools.history.reach import Reach
from tools.history.records import Commit, FileChange
from tools.history.upstream import Range
from tools.history.verdicts import Verdict

_OP = re.compile(r"\.(?:def|impl)\(\s*((?:\"[^\"]*\"\s*)+)")
_MODEL_KEY = re.compile(r"^\s*\"(\w+)\":\s*\(\s*$|^\s*\"(\w+)\":\s*\(\s*\"", re.MULTILINE)
_TORCH = re.compile(r"TORCH_SUPPORTED_VERSION\w*\s+\"?([\d.]+)")
_PINNED = re.compile(r"\bGIT_TAG\s+(\S+)")
_SHARED = 0.5
"""Share of common lines from which a native file of the plugin is a copy of upstream's at the same path."""
_RUNTIME = re.compile(r"^requirements/(?:common|cuda|build[^/]*|build/cuda)\.(?:txt|in)$|^requirements\.txt$")


class Beside:
    """Verdicts on files that hold no symbols of the package."""

    def __init__(self, upstream: Range, reach: Reach) -> None:
        self.upstream, self.reach = upstream, reach
        self.plugin = reach.plugin
        self.paths = frozenset(self.plugin.snapshot.paths())

    def verdicts(self, commit: Commit) -> Iterator[Verdict]:
        """One for each thing that asks for something, and for what is told although it does not."""
        for change in commit.files:
            if change.submodule:
                continue
            place = place_of(change.new_path, self.upstream.package)
            if place is Place.REQUIREMENT or (place is Place.BUILD and change.new_path == "pyproject.toml"):
                yield from self._requirements(change)
            elif place is Place.BUILD:
                yield from self._build(change)
            elif place is Place.NATIVE:
                yield from self._native(change)
            elif change.new_path.endswith("/models/registry.py"):
                yield from self._models(change)

    def _texts(self, change: FileChange) -> tuple[str, str]:
        contents = (self.upstream.blob(change.old_blob), self.upstream.blob(change.new_blob))
        old, new = ((content or b"").decode("utf-8", "replace") for content in contents)
        return old, new

    # ---- requirements ----

    def _requirements(self, change: FileChange) -> Iterator[Verdict]:
        path = change.new_path
        if other_device(path):
            return
        old, new = (_pins(text, path) for text in self._texts(change))
        names = sorted(n for n in {*old, *new} if old.get(n) != new.get(n))
        if not names:
            return
        shown = ", ".join(f"`{n}` {_step(old.get(n), new.get(n))}" for n in names[:4])
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        own = [n for n in names if self._uses(n)]
        if own:
            certainty = Certainty.CERTAIN if _RUNTIME.match(path) else Certainty.LIKELY
        elif path.endswith("common.txt"):
            certainty = Certainty.LIKELY
        else:
            certainty = Certainty.POSSIBLE
        yield Verdict(Meaning.DEPENDENCY, certainty, f"`{path}` changes {shown}{more}")

    def _uses(self, distribution: str) -> bool:
        """Whether the plugin names the distribution: in its profile, its requirements or its imports."""
        name = re.sub(r"[-_.]+", "_", distribution).lower()
        components = {c.lower() for c in self.reach.subject.profile.components}
        return name in components or name in self._own_requirements or name in self._imports

    @cached_property
    def _own_requirements(self) -> frozenset[str]:
        names: set[str] = set()
        for path in self.paths:
            if place_of(path, self.plugin.package) is Place.REQUIREMENT:
                text = self.plugin.snapshot.read(path).decode("utf-8", "replace")
                names |= {re.sub(r"[-_.]+", "_", n).lower() for n in _pins(text, path)}
        return frozenset(names)

    @cached_property
    def _imports(self) -> frozenset[str]:
        return frozenset(
            i.module.partition(".")[0].lower()
            for record in self.plugin.modules.values()
            for i in record.imports
            if not i.level
        )

    # ---- native code ----

    def _build(self, change: FileChange) -> Iterator[Verdict]:
        old, new = self._texts(change)
        torch = _TORCH.findall(old), _TORCH.findall(new)
        if torch[0] != torch[1] and torch[1]:
            yield Verdict(
                Meaning.DEPENDENCY,
                Certainty.CERTAIN,
                f"`{change.new_path}` asks for torch {', '.join(dict.fromkeys(torch[1]))}",
            )
        if change.new_path.startswith("cmake/external_projects/"):
            component = change.new_path.rpartition("/")[2].removesuffix(".cmake").lower()
            wanted = {c.replace("_", "") for c in self.reach.subject.profile.components}
            tags = _PINNED.findall(old), _PINNED.findall(new)
            if tags[0] != tags[1] and component.replace("_", "").removeprefix("vllm") in wanted:
                yield Verdict(
                    Meaning.DEPENDENCY,
                    Certainty.POSSIBLE,
                    f"`{change.new_path}` builds another revision of {component}, which the plugin has of its own",
                )

    def _native(self, change: FileChange) -> Iterator[Verdict]:
        path = change.new_path
        if other_device(path):
            return
        old, new = self._texts(change)
        before, after = _schemas(old), _schemas(new)
        changed = sorted(n for n in {*before, *after} if before.get(n) != after.get(n))
        used = [n for n in changed if n in self._called_ops]
        if used:
            names = ", ".join(f"`{n}`" for n in used[:4])
            yield Verdict(
                Meaning.DEPENDENCY,
                Certainty.LIKELY,
                f"`{path}` changes the schema of native ops that the plugin calls ({names})",
            )
        if path in self.paths and self._copied(path, old):
            yield Verdict(
                Meaning.MERGE, Certainty.POSSIBLE, f"the plugin holds a copy of `{path}`, which changes"
            )

    def _copied(self, path: str, upstream: str) -> bool:
        own = self.plugin.snapshot.read(path).decode("utf-8", "replace")
        mine = {line.strip() for line in own.splitlines() if len(line.strip()) > 3}
        theirs = {line.strip() for line in upstream.splitlines() if len(line.strip()) > 3}
        return len(mine & theirs) >= _SHARED * max(1, len(theirs))

    @cached_property
    def _called_ops(self) -> frozenset[str]:
        """Last parts of everything that the plugin calls: ops are reached under several prefixes."""
        return frozenset(self.plugin.calls_by_name)

    # ---- models ----

    def _models(self, change: FileChange) -> Iterator[Verdict]:
        old, new = (_model_keys(text) for text in self._texts(change))
        fresh = sorted(new - old)
        own = [k for k in fresh if k in self.reach.model_keys]
        if own:
            names = ", ".join(f"`{k}`" for k in own[:4])
            yield Verdict(
                Meaning.MERGE,
                Certainty.POSSIBLE,
                f"upstream now has {names}, which the plugin registers itself",
            )
        rest = [k for k in fresh if k not in self.reach.model_keys]
        if rest:
            names = ", ".join(f"`{k}`" for k in rest[:4])
            more = f" and {len(rest) - 4} more" if len(rest) > 4 else ""
            yield Verdict(
                Meaning.NEW_ARCHITECTURE,
                Certainty.CERTAIN,
                f"upstream registers {names}{more}, which the plugin neither registers nor was tried with",
            )


def _pins(text: str, path: str) -> dict[str, str]:
    """Distribution -> what is asked of it; lines that are no requirement are left out."""
    if path.endswith(".toml"):
        lines = re.findall(r"^\s*\"([^\"\n]+)\",?\s*$", text, re.MULTILINE)
        lines += re.findall(r"^requires\s*=\s*\[(.*)\]", text, re.MULTILINE)
    else:
        lines = text.splitlines()
    out: dict[str, str] = {}
    for line in lines:
        try:
            found = Requirement(line.partition(" #")[0].strip())
        except InvalidRequirement:
            continue
        asked = str(found.specifier) or found.url or ""
        key = found.name.lower()
        out[key] = f"{out[key]}; {asked}" if key in out else asked
    return out


def _step(old: str | None, new: str | None) -> str:
    if old is None:
        return f"(new: {new or 'any version'})"
    return "(dropped)" if new is None else f"({old or 'any'} to {new or 'any'})"


def _schemas(text: str) -> dict[str, str]:
    """Name of an op -> its schema, without white space."""
    out: dict[str, str] = {}
    for match in _OP.finditer(text):
        schema = "".join(re.findall(r"\"([^\"]*)\"", match[1]))
        name = re.split(r"[(\s]", schema.rpartition("::")[2] if "(" not in schema else schema, maxsplit=1)[0]
        if "(" in schema:
            out[name.rpartition("::")[2]] = "".join(schema.split())
    return out


def _model_keys(text: str) -> frozenset[str]:
    return frozenset(a or b for a, b in _MODEL_KEY.findall(text))
