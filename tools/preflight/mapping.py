"""The mapping that a person confirms once: comparison target, edited checkout, and what validation imports."""

from __future__ import annotations

import json

from tools.environment.answer import Candidate, Distribution
from tools.findings import Frozen, Severity, short_hash
from tools.preflight.places import identity_line, origin_line
from tools.preflight.record import LocalSource, Package, Preflight


class MappingRow(Frozen):
    """One line of the question."""

    question: str
    answer: str
    because: str
    """What it rests on."""


class MappingQuestion(Frozen):
    """The one bundled question. Silence is no answer, and an answer holds as long as ``mapping_id`` stays."""

    mapping_id: str
    text: str
    rows: tuple[MappingRow, ...]
    doubts: tuple[str, ...]
    """Discrepancies that speak against saying yes, worst first."""
    choices: tuple[str, ...] = ("yes", "no", "skip the question")


def mapping_id(record: Preflight) -> str:
    """Twelve hex digits over interpreter, target and mapping.

    What is edited does not count: not the plugin's content or commit, nor how its copies correspond to it. Of the
    target, its content does, and whether the copy that is imported has that content.
    """
    interpreter = record.interpreter
    target = record.vllm.source
    plugin = record.plugin.source
    facts = {
        "interpreter": [interpreter.executable, interpreter.real, interpreter.version, interpreter.prefix],
        "target": target and [target.identity.kind, target.place, target.identity.digest],
        "edited": plugin and [plugin.identity.kind, plugin.place or plugin.identity.label],
        "imports": [
            [package.name, _place(package.module), _place(package.script)] for package in record.packages
        ],
        "installed": [[_dist(dist) for dist in package.distributions] for package in record.packages],
        "same": [[row.place, row.equal] for row in record.correspondence if row.role == "vllm"],
        "profile": record.profile,
    }
    return short_hash(json.dumps(facts, sort_keys=True))


def questions(record: Preflight) -> MappingQuestion:
    """What to ask before anything is decided, edited or validated."""
    vllm, plugin = record.vllm, record.plugin
    order = sorted(record.discrepancies, key=lambda row: row.severity.rank)
    doubts = tuple(f"{row.what} {row.means}" for row in order if row.severity is not Severity.NOTE)
    return MappingQuestion(
        mapping_id=record.mapping_id,
        text="Is this what the upgrade is compared with, edits, and is validated with?",
        rows=(
            MappingRow(
                question="Comparison target", answer=_source(vllm.source), because=_basis(vllm.source)
            ),
            MappingRow(
                question="Checkout to edit", answer=_source(plugin.source), because=_basis(plugin.source)
            ),
            MappingRow(
                question="Validation runs",
                answer=record.interpreter.executable,
                because=f"{record.interpreter.implementation} {record.interpreter.version} "
                f"in {record.interpreter.cwd}",
            ),
            *(
                MappingRow(
                    question=f"It imports {package.name} from",
                    answer=package.effective.place if package.effective else "nowhere",
                    because=_because(record, package),
                )
                for package in (vllm, plugin)
            ),
        ),
        doubts=doubts,
    )


def _place(candidates: tuple[Candidate, ...]) -> list[str]:
    return [candidates[0].kind, candidates[0].place, candidates[0].real] if candidates else []


def _dist(dist: Distribution) -> list[object]:
    return [dist.name, dist.version, dist.metadata, dist.editable, dist.packages]


def _source(source: LocalSource | None) -> str:
    return "not given" if source is None else source.place or source.identity.label


def _basis(source: LocalSource | None) -> str:
    return "" if source is None else identity_line(source.identity)


def _because(record: Preflight, package: Package) -> str:
    if package.effective is None:
        return "no entry of the path holds it"
    owner = package.owner(package.effective)
    which = f"{owner.name} {owner.version}" if owner else "no installed distribution"
    same = [row for row in record.correspondence if row.role == package.role and row.imported]
    relation = ""
    if same:
        row = same[0]
        relation = (
            ", the source itself" if row.same_place else ", same content" if row.equal else ", other content"
        )
    return f"{origin_line(record, package.effective)}; {which}{relation}"
