"""Whatever stands in a file, and whatever files are called, a command ends with a line and a status."""

import random
from pathlib import Path

from hypothesis import given as drawn
from hypothesis import settings, strategies

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.input import object_of
from tests.ctl.inputs.files.files_case import FilesCase, an_ingress
from tests.properties import examples

MANIFESTS = sorted(Path(__file__).parents[3].glob("fixtures/*/manifests.yaml"))
KUSTOMIZATION = (
    "resources: [a.yaml, ../b]\npatches:\n- path: p.yaml\nconfigMapGenerator:\n- {name: x, files: [a=b]}\n"
)
SPICE = (
    b"\xff",
    b"\0",
    b"{{",
    b"&a ",
    b"*a",
    b"<<: *a\n",
    b"[",
    b"- ",
    b": ",
    b"\x1b[31m",
    b"!!python/object:x ",
    b"'",
    b"\t",
)


def mutated(content: bytes, seed: int) -> bytes:
    """Return *content* with a few pieces cut, doubled or put in."""
    chance = random.Random(seed)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(content) + 1)
        end = min(len(content), at + chance.randrange(40))
        piece = chance.choice((b"", content[at:end] * 2, chance.choice(SPICE)))
        content = content[:at] + piece + content[end:]
    return content


class AnyBytesTests(FilesCase):
    """Nothing that stands in a file raises anything but a mistake in words."""

    def read_all(self, content: bytes, name: str) -> None:
        """Read *content* as a file that is named, in a folder, and piped in; translate what comes."""
        path = self.folder / name
        path.write_bytes(content)
        for read in (lambda: self.read(name), self.read, lambda: self.read_piped(content)):
            try:
                given = read()
            except Mistake:
                continue
            asked = [
                (given.place(object_of(one)), object_of(one), one.field) for one in given.snapshot.problems
            ]
            given.exact_places(asked)
        path.unlink()

    @settings(max_examples=examples(60), deadline=None)
    @drawn(
        strategies.binary(max_size=60),
        strategies.sampled_from(("a.yaml", "a.json", "kustomization.yaml", "Chart.yaml")),
    )
    def test_any_bytes(self, content: bytes, name: str) -> None:
        """Bytes of any kind, alone and behind an object."""
        self.read_all(content, name)
        self.read_all(an_ingress().encode() + content, name)

    @settings(max_examples=examples(80), deadline=None)
    @drawn(strategies.sampled_from(MANIFESTS), strategies.integers(0, 2**32))
    def test_mutated_manifests(self, path: Path, seed: int) -> None:
        """Manifests with pieces cut, doubled and put in."""
        self.read_all(mutated(path.read_bytes(), seed), "a.yaml")

    @settings(max_examples=examples(60), deadline=None)
    @drawn(strategies.integers(0, 2**32))
    def test_mutated_kustomizations(self, seed: int) -> None:
        """Kustomizations likewise; nothing is built that looks elsewhere."""
        self.manifest(an_ingress())
        self.read_all(mutated(KUSTOMIZATION.encode(), seed), "kustomization.yaml")

    def test_hostile_texts(self) -> None:
        """Depth, aliases, size and names of files that nobody would write by hand."""
        deep = "[" * 50_000
        bomb = "a: &a [x, x]\n" + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(24)
        )
        for text in (
            deep,
            f"kind: Ingress\nx: {deep}",
            f"kind: Ingress\n{bomb}",
            "kind: Ingress\n" + "a: " * 1000,
            "---\n" * 5000,
            '{"kind": "List", "items": ' * 200,
            "kind: Ingress\n" + "x" * 10**6,
        ):
            self.read_all(text.encode(), "a.yaml")
        self.manifest(an_ingress(host="a b"), "\x1b[31m\n.yaml")
        self.assertNotIn("\x1b[31m", self.run_command("lint", str(self.folder)).output)
