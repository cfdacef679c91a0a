"""The operator's snippets: ``http-snippet``, ``server-snippet``, ``location-snippet``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.snippets.family import SNIPPETS, SnippetSettings
from ingress.options.merging import Merged, OptionTexts, merge
from ingress.options.table import OPTIONS
from ingress.settings import Settings

NAMES = ("http-snippet", "location-snippet", "server-snippet")


def said(name: str, text: str) -> tuple[Merged, SnippetSettings]:
    """What a ConfigMap with this key comes to."""
    merged = merge(Settings(), (), OptionTexts({name: text}))
    settings = getattr(merged.settings.translate.operators, SNIPPETS.name)
    assert isinstance(settings, SnippetSettings)
    return merged, settings


class OperatorsTests(SynchronousTestCase):
    """On the command line, and in a ConfigMap."""

    def test_honored(self) -> None:
        """What is on the list holds, each where it belongs."""
        for name in NAMES:
            merged, settings = said(name, "more_set_headers 'X: y';")
            self.assertEqual((merged.problems, merged.in_force), ((), (name,)))
            snippets = (settings.operators_http, settings.operators_location, settings.operators_server)
            self.assertEqual(
                [len(one.block.level.fields) for one in snippets], [int(each == name) for each in NAMES]
            )

    def test_refused_in_a_config_map(self) -> None:
        """What is refused is told by line, the rest holds, and a guard that is missing is known of."""
        merged, settings = said("server-snippet", "more_set_headers 'X: y';\ninternal;\nroot /x;")
        (problem,) = merged.problems
        for text in ("internal in line 2", "root in line 3"):
            self.assertIn(text, problem.message)
        self.assertIn("the rest of it is honored, and where a guard is missing", problem.message)
        snippet = settings.operators_server
        self.assertEqual((len(snippet.block.level.fields), snippet.lacks_guard), (1, True))
        _, settings = said("http-snippet", "root /x; add_header A b;")
        self.assertEqual(
            (len(settings.operators_http.block.level.added), settings.operators_http.lacks_guard), (1, False)
        )

    def test_refused_on_the_command_line(self) -> None:
        """There it ends the start, with the reason."""
        for name in NAMES:
            read = OPTIONS[name].read
            assert read is not None
            error = self.assertRaises(ValueError, read, "add_header X y;\nproxy_pass http://x;")
            self.assertIn("proxy_pass in line 2", str(error))
            self.assertRaises(ValueError, read, "add_header X y")

    def test_notes_are_no_refusals(self) -> None:
        """What only changes nothing is taken."""
        merged, _ = said("http-snippet", "gzip on; log_format x y; add_header X y;")
        self.assertEqual(merged.problems, ())
