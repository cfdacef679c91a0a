"""The chunked coding of request bodies: sizes, line ends, extensions, and how it breaks."""

from tests.corpus.cases import BROKEN, Case, chunked, either, forward, get, got, got_chunked, refuse

_END = b"0\r\n\r\n"


def bad(name: str, body: bytes) -> Case:
    """A body that cannot be read in one way."""
    return Case(name, chunked(body), refused=(400,))


def broken(name: str, body: bytes) -> Case:
    """A body that breaks off, with the connection's downstream side."""
    return Case(name, chunked(body), refused=BROKEN, finishes=True)


def good(name: str, body: bytes, plain: bytes) -> Case:
    """A body that is fine, and arrives as *plain*."""
    return forward(name, chunked(body), got_chunked(plain))


CASES: tuple[Case, ...] = (
    good("two chunks", b"2\r\nhe\r\n3\r\nllo\r\n" + _END, b"hello"),
    good(
        "sizes in both cases of letters", b"A\r\n0123456789\r\na\r\n0123456789\r\n" + _END, b"0123456789" * 2
    ),
    good("leading zeros", b"0005\r\nhello\r\n" + _END, b"hello"),
    good("last chunk of many zeros", b"5\r\nhello\r\n0000\r\n\r\n", b"hello"),
    good("line ends in a chunk", b"6\r\n\r\n0\r\n\r\r\n" + _END, b"\r\n0\r\n\r"),
    good("chunk of 20,000 bytes", b"4e20\r\n" + b"x" * 20000 + b"\r\n" + _END, b"x" * 20000),
    good("a thousand chunks of one byte", b"1\r\nx\r\n" * 1000 + _END, b"x" * 1000),
    good("extension", b"5;a=b\r\nhello\r\n0;c\r\n\r\n", b"hello"),
    good("extension in quotes", b'5;a="b;c"\r\nhello\r\n' + _END, b"hello"),
    good("empty extension", b"5;\r\nhello\r\n" + _END, b"hello"),
    either("space before an extension", chunked(b"5 ;a\r\nhello\r\n" + _END), got_chunked(b"hello")),
    either("space behind the size", chunked(b"5 \r\nhello\r\n" + _END), got_chunked(b"hello")),
    either("fifteen zeros", chunked(b"000000000000005\r\nhello\r\n" + _END), got_chunked(b"hello")),
    bad("space before the size", b" 5\r\nhello\r\n" + _END),
    bad("tab before the size", b"\t5\r\nhello\r\n" + _END),
    bad("plus sign", b"+5\r\nhello\r\n" + _END),
    bad("minus sign", b"-5\r\nhello\r\n" + _END),
    bad("0x", b"0x5\r\nhello\r\n" + _END),
    bad("0X behind", b"50X\r\nhello\r\n" + _END),
    bad("underscore", b"0_5\r\nhello\r\n" + _END),
    bad("no size", b"\r\nhello\r\n" + _END),
    bad("no size but an extension", b";a\r\nhello\r\n" + _END),
    bad("letter beyond F", b"g\r\nhello\r\n" + _END),
    bad("letter behind the size", b"5g\r\nhello\r\n" + _END),
    bad("colon behind the size", b"5:\r\nhello\r\n" + _END),
    bad("comma behind the size", b"5,\r\nhello\r\n" + _END),
    bad("two sizes", b"5 5\r\nhello\r\n" + _END),
    bad("fraction", b"5.0\r\nhello\r\n" + _END),
    bad("NUL behind the size", b"5\0\r\nhello\r\n" + _END),
    bad("vertical tab behind the size", b"5\x0b\r\nhello\r\n" + _END),
    bad("sixteen digits", b"ffffffffffffffff\r\nhello\r\n" + _END),
    bad("seventeen digits", b"10000000000000005\r\nhello\r\n" + _END),
    bad("two to the 32nd by zeros", b"0" * 2000 + b"5\r\nhello\r\n" + _END),
    bad("bare LF behind the size", b"5\nhello\r\n" + _END),
    bad("bare CR behind the size", b"5\rhello\r\n" + _END),
    bad("two CR behind the size", b"5\r\r\nhello\r\n" + _END),
    bad("bare LF behind the chunk", b"5\r\nhello\n" + _END),
    bad("bare CR behind the chunk", b"5\r\nhello\r" + _END),
    bad("nothing behind the chunk", b"5\r\nhello" + _END),
    bad("chunk longer than its size", b"4\r\nhello\r\n" + _END),
    bad("chunk shorter than its size", b"6\r\nhello\r\n" + _END),
    bad("any two bytes behind the chunk", b"5\r\nhelloXX" + _END),
    bad("LF CR behind the chunk", b"5\r\nhello\n\r" + _END),
    bad("bare LF behind the last chunk", b"5\r\nhello\r\n0\n\r\n"),
    bad("bare LF at the end", b"5\r\nhello\r\n0\r\n\n"),
    bad("bare CR at the end", b"5\r\nhello\r\n0\r\n\rX"),
    bad("bare LF in an extension", b"5;a\nb\r\nhello\r\n" + _END),
    bad("bare CR in an extension", b"5;a\rb\r\nhello\r\n" + _END),
    bad("bare LF at the end of an extension", b"5;\nhello\r\n" + _END),
    bad("NUL in an extension", b"5;a\0b\r\nhello\r\n" + _END),
    bad("extension of 5,000 bytes", b"5;" + b"a" * 5000 + b"\r\nhello\r\n" + _END),
    bad("64 KB of extensions", (b"1;" + b"a" * 500 + b"\r\nx\r\n") * 130 + _END),
    bad("size line without an end", b"5" + b"0" * 5000),
    bad("body in plain", b"hello\r\n"),
    bad("request for a size", get()),
    broken("no byte of it", b""),
    broken("a size alone", b"5"),
    broken("a size line alone", b"5\r\n"),
    broken("half a chunk", b"5\r\nhe"),
    broken("no line end behind the chunk", b"5\r\nhello"),
    broken("half a line end behind the chunk", b"5\r\nhello\r"),
    broken("no last chunk", b"5\r\nhello\r\n"),
    broken("last size alone", b"5\r\nhello\r\n0"),
    broken("last size line alone", b"5\r\nhello\r\n0\r\n"),
    broken("half the last line end", b"5\r\nhello\r\n0\r\n\r"),
    broken("large, and no last chunk", b"10000\r\n" + b"x" * 65536 + b"\r\n"),
    refuse("bad chunk behind good ones", chunked(b"5\r\nhello\r\n" * 20 + b"zz\r\n")),
    Case(
        "request behind the last chunk",
        chunked(b"5\r\nhello\r\n" + _END + get(target=b"/next")),
        (got_chunked(b"hello"), got(target=b"/next")),
    ),
    Case(
        "rubbish behind the last chunk",
        chunked(b"5\r\nhello\r\n" + _END + b"rubbish\r\n\r\n"),
        (got_chunked(b"hello"),),
        refused=(400,),
    ),
)
