"""The page that people look at: one file, and the policy that a browser holds it to.

The file is package data, and everything is in it: markup, style and program.  The policy names the two by their
hashes, so a browser runs nothing else, whatever a tenant may have got into the page; and it talks to nobody but us.
"""

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Final

from ingress.admin.contract.answers import Answer

_STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)


VARY: Final = (("Vary", "Accept"),)


@cache
def front_page() -> Answer:
    """Return the page; it is read once."""
    text = files("ingress.admin").joinpath("pages/page.html").read_text("utf-8")
    fields = (
        *VARY,
        ("Content-Security-Policy", policy_of(text)),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    )
    return Answer(text.encode(), "text/html; charset=utf-8", fields=fields)


def policy_of(text: str) -> str:
    """Return the policy of a page of *text*, with the hashes of its style and its program."""
    scripts = " ".join(map(_source, _SCRIPT.findall(text)))
    styles = " ".join(map(_source, _STYLE.findall(text)))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def wants_page(accept: str) -> bool:
    """Whether a client that says *accept* is a browser: one that asks for HTML by name, which ``curl`` does not."""
    return any(one.partition(";")[0].strip().lower() == "text/html" for one in accept.split(","))
