"""The text behind syntax nodes."""

from __future__ import annotations

import ast
import hashlib


class SourceText:
    """The lines of one file, as the tokenizer counts them."""

    def __init__(self, content: bytes) -> None:
        if content.startswith(b"\xef\xbb\xbf"):
            content = content[3:]
        # Form feeds and the like end no line.
        self.lines = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")

    def text(self, node: ast.expr | None, limit: int = 0) -> str:
        """Source text of ``node`` on one line."""
        if node is None or node.end_lineno is None:
            return ""
        first, last = node.lineno - 1, node.end_lineno - 1
        if first == last:
            raw = self.lines[first][node.col_offset : node.end_col_offset]
        else:
            middle = self.lines[first + 1 : last]
            raw = b" ".join(
                part.strip()
                for part in (
                    self.lines[first][node.col_offset :],
                    *middle,
                    self.lines[last][: node.end_col_offset],
                )
            )
        text = raw.decode("utf-8", "replace")
        return text[:limit] if limit else text

    def text_hash(self, first: int, last: int) -> str:
        digest = hashlib.blake2b(digest_size=8)
        for raw in self.lines[first - 1 : last]:
            line = raw.strip()
            if line and not line.startswith(b"#"):
                digest.update(line + b"\n")
        return digest.hexdigest()
