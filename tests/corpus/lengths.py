"""Content-Length: one, of digits, and nothing beside it."""

from tests.corpus.cases import BROKEN, Case, either, forward, get, got, got_length, post, refuse

_NEXT = get(target=b"/smuggled")


def length(*values: bytes, body: bytes = b"hello") -> bytes:
    """A POST request with these Content-Length values, and five bytes."""
    return post(*(b"Content-Length: " + value for value in values), body=body)


CASES: tuple[Case, ...] = (
    refuse("plus sign", length(b"+5")),
    refuse("minus sign", length(b"-5")),
    refuse("minus nothing", length(b"-0")),
    refuse("hexadecimal", length(b"0x5")),
    refuse("hexadecimal digits", length(b"a", body=b"hellohello")),
    refuse("octal of Python", length(b"0o5")),
    refuse("underscore", length(b"0_5")),
    refuse("exponent", length(b"5e0")),
    refuse("fraction", length(b"5.0")),
    refuse("comma", length(b"5,")),
    refuse("list of the same", length(b"5, 5")),
    refuse("list of different ones", length(b"5, 6")),
    refuse("twice the same", length(b"5", b"5")),
    refuse("twice, differently", length(b"5", b"6")),
    refuse("twice, the first empty", length(b"", b"5")),
    refuse("twice, one in another spelling", post(b"Content-Length: 5", b"content-length: 0", body=b"hello")),
    refuse("empty", length(b"")),
    refuse("letters", length(b"five")),
    refuse("two numbers", length(b"5 5")),
    refuse("quotes", length(b'"5"')),
    refuse("semicolon", length(b"5;5")),
    refuse("tab inside", length(b"1\t1")),
    refuse("vertical tab before", length(b"\x0b5")),
    refuse("form feed behind", length(b"5\x0c")),
    refuse("NUL behind", length(b"5\0")),
    refuse("no-break space before", length(b"\xa05")),
    refuse("Arabic digits", length("\u0665".encode())),
    refuse("two to the 64th and five", length(b"18446744073709551621"), 400, 413),
    refuse("two to the 63rd", length(b"9223372036854775808"), 400, 413),
    refuse("twenty digits", length(b"9" * 20), 400, 413),
    refuse("five thousand digits", length(b"9" * 5000), 400, 413, 431),
    refuse("space before the colon", post(b"Content-Length : 5", body=b"hello")),
    refuse("space before the name", post(b" Content-Length: 5", body=b"hello")),
    refuse("tab before the colon", post(b"Content-Length\t: 5", body=b"hello")),
    refuse("no colon", post(b"Content-Length 5", body=b"hello")),
    refuse("NUL in the name", post(b"Content-Length\0: 5", body=b"hello")),
    refuse("folded", post(b"Content-Length:", b" 5", body=b"hello")),
    refuse("bare CR behind the value", post(b"Content-Length: 5\rX: y", body=b"hello")),
    refuse("bare LF behind the value", post(b"Content-Length: 5\nX: y", body=b"hello")),
    refuse("a request hidden behind two lengths", length(b"0", b"%d" % len(_NEXT), body=_NEXT)),
    refuse("a request hidden behind a signed length", length(b"+%d" % len(_NEXT), body=_NEXT)),
    forward("whitespace around the number", length(b" \t5 \t"), got_length(b"hello")),
    either("leading zeros", length(b"0005"), got_length(b"hello")),
    either("many leading zeros", length(b"0" * 40 + b"5"), got_length(b"hello")),
    forward("name in lower case", post(b"content-length: 5", body=b"hello"), got_length(b"hello")),
    # An underscore is another letter: no length, so no body, and not for upstream to guess about.
    Case(
        "underscore for the hyphen",
        post(b"Content_Length: 5", body=b"hello"),
        (got(method=b"POST"),),
        refused=(400, 0),
        finishes=True,
    ),
    Case(
        "body longer than its length", length(b"4"), (got_length(b"hell"),), refused=(400, 0), finishes=True
    ),
    Case("body shorter than its length", length(b"6"), refused=BROKEN, finishes=True),
    Case("no byte of the body", length(b"6", body=b""), refused=BROKEN, finishes=True),
    Case("large body that breaks off", length(b"100000", body=b"x" * 70000), refused=BROKEN, finishes=True),
)
