"""Credentials out of texts that people see or that are kept."""

from __future__ import annotations

import re

_LOGIN = re.compile(r"(?<=//)[^/?#\s'\"]*@")
_QUERY = re.compile(r"(\w[\w+.-]{0,30}://[^\s'\"?#]*)[?#][^\s'\")]*")


def redacted(text: str) -> str:
    """``text`` with logins in URLs replaced by ``***``, and their queries and fragments cut off."""
    return _QUERY.sub(r"\1", _LOGIN.sub("***@", text))
