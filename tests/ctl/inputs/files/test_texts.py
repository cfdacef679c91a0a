"""What reading a file, or standard input, takes."""

import tracemalloc

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.files.texts import MOST_BYTES, content_of, standard_input

CONTENT = b"kind: Service\n"


class MemoryTests(SynchronousTestCase):
    """A small text takes room for itself, and not for the largest that may be read."""

    def setUp(self) -> None:
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)

    def took_little(self) -> None:
        """Say that there was no room for much."""
        self.assertLess(tracemalloc.get_traced_memory()[1], MOST_BYTES // 16)

    def test_file(self) -> None:
        """A file that is named."""
        path = self.mktemp()
        with open(path, "wb") as stream:
            stream.write(CONTENT)
        self.assertEqual(content_of(path)[0], CONTENT)
        self.took_little()

    def test_standard_input(self) -> None:
        """What is piped in."""
        path = self.mktemp()
        with open(path, "wb") as stream:
            stream.write(CONTENT)
        with open(path, "rb") as stream:
            self.assertEqual(standard_input(stream), CONTENT)
        self.took_little()
