"""The sample report made hostile, empty and large."""

from __future__ import annotations

from tests.agent.report.records import (
    HOSTILE,
    IMPORT_EXCERPT,
    LONG,
    RULES,
    UPSTREAM_EXCERPT,
    evidence,
    finding,
    identity,
)
from tests.agent.report.sample import sample_report
from tools.findings import (
    Blocked,
    Coverage,
    Evidence,
    Finding,
    Report,
    Severity,
    Unresolved,
)


def hostile_report() -> Report:
    """Every text field that a source tree can reach holds markup, controls and half characters."""
    report = sample_report()
    bad = evidence(
        9, "plugin", f"vllm_metax/{HOSTILE[:60]}/a.py", 1, f"{HOSTILE}\n````\n</pre></code>\n{LONG}\nlast\n"
    )
    row = finding(
        9,
        path=f"vllm_metax/{HOSTILE[:60]}/a.py",
        line=2,
        symbol=HOSTILE,
        message=HOSTILE,
        trigger=HOSTILE,
        consequence=f"{HOSTILE}\n# not a heading\n\n- not a list",
        suggestion=HOSTILE,
        since=HOSTILE,
        cause=HOSTILE,
        silent=True,
        evidence=("e9",),
        blast_radius=(HOSTILE,),
    )
    odd = finding(10, message="`unbalanced", cause="`a|b` and `c\\|d`", path="we ird/`tick|.py", symbol="|`")
    return report.model_copy(
        update={
            "findings": (*report.findings, row, odd),
            "evidence": (*report.evidence, bad),
            "subject": identity("folder", HOSTILE, HOSTILE, HOSTILE),
            "environment": {"python": HOSTILE, HOSTILE: "x"},
            "discrepancies": (
                report.discrepancies[0].model_copy(
                    update={"about": HOSTILE, "what": HOSTILE, "means": HOSTILE, "remedy": HOSTILE}
                ),
            ),
            "blocked": (Blocked(what=HOSTILE, why=HOSTILE, remedy=HOSTILE),),
            "unresolved": (Unresolved(check="CAL001", path=HOSTILE, line=1, symbol=HOSTILE, reason=HOSTILE),),
            "inventory": (
                report.inventory[0].model_copy(
                    update={"key": HOSTILE, "kind": HOSTILE, "counterpart": HOSTILE}
                ),
            ),
            "dispositions": (
                report.dispositions[0].model_copy(update={"title": HOSTILE, "reason": HOSTILE}),
            ),
            "coverage": report.coverage.model_copy(update={"unchanged": (HOSTILE,), "skipped": (HOSTILE,)}),
        }
    )


def empty_report() -> Report:
    """Nothing found and nothing blocked."""
    return sample_report().model_copy(
        update={
            "findings": (),
            "unresolved": (),
            "inventory": (),
            "dispositions": (),
            "merges": (),
            "evidence": (),
            "blocked": (),
            "discrepancies": (),
            "coverage": Coverage(plugin_files=164, checks=("CAL001", "IMP001")),
        }
    )


def large_report(errors: int, warnings: int, notes: int = 0) -> Report:
    """Many findings with two excerpts each, over a realistic number of causes and files."""
    findings: list[Finding] = []
    items: list[Evidence] = []
    severities = [Severity.ERROR] * errors + [Severity.WARNING] * warnings + [Severity.NOTE] * notes
    checks = sorted(RULES)
    for number, severity in enumerate(severities):
        path = f"vllm_metax/model_executor/layers/quantization/module_{number % 53}.py"
        items.append(evidence(2 * number + 100, "plugin", path, number + 1, IMPORT_EXCERPT))
        items.append(
            evidence(2 * number + 101, "target", f"vllm/layers/module_{number % 37}.py", 7, UPSTREAM_EXCERPT)
        )
        findings.append(
            finding(
                number + 100,
                check=checks[number % len(checks)],
                path=path,
                line=number + 5,
                symbol=f"MacaLayer{number}.process_weights_after_loading",
                severity=severity,
                introduced=number % 4 != 0,
                silent=number % 17 == 0,
                cause=f"`vllm.layers.module_{number % 71}:Layer.forward` takes `moe_config`, not `layer`",
                evidence=(f"e{2 * number + 100}", f"e{2 * number + 101}"),
            )
        )
    return sample_report().model_copy(
        update={
            "findings": tuple(findings),
            "evidence": (*sample_report().evidence, *items),
            "unresolved": tuple(
                Unresolved(
                    check="CAL001",
                    path=f"vllm_metax/m{n}.py",
                    line=n + 1,
                    symbol="f",
                    reason="callee unknown",
                )
                for n in range(len(severities))
            ),
            "coverage": sample_report().coverage.model_copy(
                update={"unchanged": tuple(f"vllm.layers.linear:Linear{n}.forward" for n in range(600))}
            ),
        }
    )
