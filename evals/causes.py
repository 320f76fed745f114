"""Which families of checks speak of which cause, and which family a type checker's rule belongs to.

A finding that stands at the right place for another reason would tell its reader the wrong thing to do; recall is
therefore counted with this condition, and beside it without.
"""

from __future__ import annotations

FAMILIES: dict[str, frozenset[str]] = {
    # cause -> families whose findings name it
    "abstract-method": frozenset({"ABS", "OVR"}),
    "attr-removed": frozenset({"ATT", "IMP", "INI", "NAM", "PAT"}),
    "config-field": frozenset({"ATT", "CAL", "DRF", "INI", "PLT"}),
    "copied-logic-drift": frozenset({"DRF", "EXC", "LAY", "PAT", "RET", "VER"}),
    "enum": frozenset({"ATT", "IMP", "REG"}),
    "env": frozenset({"ATT", "IMP", "LOD"}),
    "import-moved": frozenset({"ATT", "IMP", "NAM", "PAT", "REG"}),
    "import-removed": frozenset({"ATT", "IMP", "NAM", "PAT", "REG"}),
    "inherited-state": frozenset({"ATT", "DRF", "INI", "MRO"}),
    "kernel-api": frozenset({"ATT", "CAL", "DEP", "DRF", "IMP", "PAT", "RET"}),
    "layout": frozenset({"DRF", "LAY", "OVR", "RET"}),
    "missing-override": frozenset({"ABS", "ATT", "DRF", "INI", "MRO", "OVR", "PAT", "PLT"}),
    "platform-hook": frozenset({"ABS", "DRF", "LOD", "MRO", "OVR", "PLT"}),
    "registry-key": frozenset({"ATT", "IMP", "LOD", "PAT", "REG"}),
    "registry-order": frozenset({"IMP", "LOD", "PAT", "REG"}),
    "return-contract": frozenset({"CAL", "DRF", "OVR", "RET"}),
    "signature-call": frozenset({"CAL", "OVR", "PAT"}),
    "signature-override": frozenset({"ABS", "CAL", "DRF", "OVR", "PAT"}),
    "super-init": frozenset({"CAL", "INI", "OVR"}),
    "weight-loading": frozenset({"DRF", "LAY"}),
}
"""``other`` is missing on purpose: any finding at the place may speak of it."""

TY = {
    "import-not-found": "IMP",
    "missing-module-member": "IMP",
    "possibly-missing-submodule": "IMP",
    "unsupported-base": "IMP",
    "invalid-type-form": "IMP",
    "missing-attribute": "ATT",
    "missing-union-attribute": "ATT",
    "unresolved-reference": "NAM",
    "unresolved-global": "NAM",
    "missing-argument": "CAL",
    "unknown-argument": "CAL",
    "too-many-positional-arguments": "CAL",
    "invalid-argument-type": "CAL",
    "no-matching-overload": "CAL",
    "not-callable": "CAL",
    "parameter-already-assigned": "CAL",
    "incompatible-method-override": "OVR",
    "incompatible-attribute-override": "OVR",
    "incompatible-mutable-override": "OVR",
    "lost-keyword-for-regular-parameter": "OVR",
    "abstract-class-instantiation": "ABS",
    "invalid-explicit-return": "RET",
    "invalid-implicit-return": "RET",
    "index-out-of-bounds": "RET",
    "not-iterable": "RET",
    "not-subscriptable": "RET",
    "invalid-assignment": "PAT",
    "inconsistent-mro": "MRO",
}
"""Of the version that the product pins: rules were renamed before."""

PYRIGHT = {
    "reportMissingImports": "IMP",
    "reportMissingModuleSource": "IMP",
    "reportAttributeAccessIssue": "ATT",
    "reportFunctionMemberAccess": "ATT",
    "reportOptionalSubscript": "RET",
    "reportOptionalCall": "CAL",
    "reportInvalidTypeForm": "IMP",
    "reportUndefinedVariable": "NAM",
    "reportCallIssue": "CAL",
    "reportArgumentType": "CAL",
    "reportIncompatibleMethodOverride": "OVR",
    "reportIncompatibleVariableOverride": "OVR",
    "reportAbstractUsage": "ABS",
    "reportReturnType": "RET",
    "reportAssignmentType": "PAT",
    "reportIndexIssue": "RET",
    "reportOptionalMemberAccess": "ATT",
    "reportGeneralTypeIssues": "IMP",
}

MYPY = {
    "import-not-found": "IMP",
    "attr-defined": "ATT",
    "union-attr": "ATT",
    "name-defined": "NAM",
    "call-arg": "CAL",
    "call-overload": "CAL",
    "arg-type": "CAL",
    "misc": "CAL",
    "operator": "CAL",
    "override": "OVR",
    "abstract": "ABS",
    "return": "RET",
    "return-value": "RET",
    "valid-type": "IMP",
    "index": "RET",
    "assignment": "PAT",
    "method-assign": "PAT",
}


def speaks_of(family: str, cause: str) -> bool:
    """Whether a finding of ``family`` can be about ``cause``."""
    return cause not in FAMILIES or family in FAMILIES[cause]


def family_of_rule(rule: str, message: str, table: dict[str, str]) -> str:
    """Family of a type checker's row; '' for rules that have no counterpart here."""
    # An imported name that the module lacks is reported under the rule for attributes.
    if "import symbol" in message:
        return "IMP"
    return table.get(rule, "")
