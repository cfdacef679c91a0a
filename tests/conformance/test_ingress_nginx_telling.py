"""What is told of cases by their names, and what stands before a request."""

from twisted.trial.unittest import SynchronousTestCase

from conformance.ingress_nginx.case import Ask, Case, Told, ingress
from conformance.ingress_nginx.cases import CASES, starts
from conformance.ingress_nginx.cases.telling import ROWS, telling


class TellingTests(SynchronousTestCase):
    def test_each_row_names_cases_that_there_are(self) -> None:
        """What is told of a case that is gone would tell nothing."""
        named = {name for names, _ in ROWS for name in names.split()}
        self.assertEqual(named - {case.name for case in CASES}, set())

    def test_what_is_told_stands_beside_the_case_s_own(self) -> None:
        """Of several rows, too; and a case that none names is as it was."""
        own = Told("answer.body", "docs/x.md")
        case, other = telling((Case("auth-tls", (ingress(),), (), told=(own,)), Case("nobody", (), ())))
        self.assertEqual([one.what for one in case.told], ["answer.body", "endpoint.auth.field.*"])
        self.assertEqual(other.told, ())


class PrefaceTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Requests that differ by what stands before them, or by TLS, have other names."""
        self.assertEqual(
            Ask(preface=starts.header(443)).name, "GET http://HOST/ PROXY TCP4 1.2.3.4 192.0.2.9 5555 443"
        )
        self.assertEqual(Ask(secure=True, highest="TLSv1_2").name, "GET https://HOST/ TLSv1_2")

    def test_the_binary_header_has_the_length_of_its_addresses(self) -> None:
        """As the PROXY protocol has it, section 2.2: twelve bytes of IPv4 addresses and ports."""
        header = starts.binary(80)
        self.assertEqual(len(header), 28)
        self.assertEqual(header[12:16], b"\x21\x11\x00\x0c")
        self.assertEqual(header[-4:], (5555).to_bytes(2) + (80).to_bytes(2))
