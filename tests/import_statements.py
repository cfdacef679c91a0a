"""The imports that a module makes, wherever they stand in it."""

import ast
from collections.abc import Iterator


def import_statements(source: str) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import of *source*, those inside of functions and other blocks too; expressions, which hold none, are not looked through."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, block, None)
            # That of a conditional expression, or of a lambda, is an expression.
            if isinstance(inner, list):
                waiting += inner
