"""What a module says of itself: the imports that it makes, wherever they stand in it, and what it is for."""

import ast
import tokenize
from collections.abc import Iterator
from io import StringIO


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


def docstring(source: str) -> str:
    """The docstring of the module with the text *source*, empty if there is none; what stands behind it is not looked at."""
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            # Of the text up to here alone there is little to parse.
            beginning = "".join(source.splitlines(keepends=True)[: token.end[0]])
            return ast.get_docstring(ast.parse(beginning)) or "" if token.type == tokenize.STRING else ""
    return ""
