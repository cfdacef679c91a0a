"""What the printed pages share: texts as cells of a table."""


def cell(text: str) -> str:
    """Return *text* with nothing in it that Markdown would take for a sign of its own, but for code in backticks."""
    # An asterisk would begin emphasis, but for one in code, where a backslash would be shown; a bar the next cell.
    parts = text.replace("|", "\\|").split("`")
    parts[::2] = [part.replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts)
