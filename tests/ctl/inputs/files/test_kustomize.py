"""Kustomizations: which are built, by what, and what becomes of the others."""

import os
import shutil
import stat
from unittest.mock import patch

from ingress.ctl.inputs.files.building import build_all
from ingress.ctl.inputs.files.choices import How
from tests.ctl.inputs.files.files_case import FilesCase, an_ingress

BUILDER = """\
#!/bin/sh
echo "$1 $2" >> {log}
cat "$2/built" 2>/dev/null && exit 0
echo 'E1122 12:19:09.172901   12363 run.go:72] "command failed" err="no matches for Id \\"x\\""' >&2
exit 1
"""


class KustomizeCase(FilesCase):
    """Has a program called ``kubectl`` that says what lies in the file ``built`` of a folder."""

    def setUp(self) -> None:
        super().setUp()
        self.programs = self.folder.parent / "programs"
        self.log = self.folder.parent / "log"
        self.programs.mkdir()
        self.program("kubectl", BUILDER.format(log=self.log.resolve()))
        path = f"{self.programs.resolve()}:/bin:/usr/bin"
        environment = patch.dict(os.environ, {"PATH": path})
        environment.start()
        self.addCleanup(environment.stop)

    def program(self, name: str, text: str) -> None:
        """Make a program."""
        path = self.programs / name
        path.write_text(text)
        path.chmod(stat.S_IRWXU)

    def built(self) -> list[str]:
        """Return the folders that were built, in no order."""
        if not self.log.exists():
            return []
        folder = str(self.folder.resolve())
        return sorted(line.replace(folder, "") for line in self.log.read_text().splitlines())

    def overlay(self, name: str, *, host: str = "shop.example.com", text: str = "") -> None:
        """Make an overlay of ``base`` that a program builds to an Ingress of *host*."""
        self.manifest(
            text or "resources: [../../base]\npatches: [{path: patch.yaml}]\n",
            f"overlays/{name}/kustomization.yaml",
        )
        self.manifest(an_ingress(host=f"patch-{host}"), f"overlays/{name}/patch.yaml")
        self.manifest(an_ingress(host=host), f"overlays/{name}/built")

    def base(self) -> None:
        """Make the base."""
        self.manifest(an_ingress(host="base.example.com"), "base/ingress.yaml")
        self.manifest("resources: [ingress.yaml]\n", "base/kustomization.yaml")


class BuildTests(KustomizeCase):
    """An overlay is what kustomize makes of it."""

    def test_overlays_of_one_base_do_not_hide_each_other(self) -> None:
        """Each overlay that is found is a layer; the files of base and patches are no objects besides."""
        self.base()
        self.overlay("dev", host="dev.example.com")
        self.overlay("prod", host="prod.example.com")
        given = self.read()
        self.assertEqual(self.built(), ["kustomize /overlays/dev", "kustomize /overlays/prod"])
        places = [[str(place) for place in layer.places.values()] for layer in given.layers]
        folder = self.folder
        self.assertEqual(
            places,
            [[f"{folder}/overlays/dev/kustomization.yaml"], [f"{folder}/overlays/prod/kustomization.yaml"]],
        )
        self.assertEqual((given.unread, given.state.problems), ((), ()))

    def test_a_folder_that_is_named(self) -> None:
        """An overlay that is named is built, though its base lies elsewhere, and so is one whose file is named."""
        self.base()
        self.overlay("dev")
        for path in ("overlays/dev", "overlays/dev/", "overlays/dev/kustomization.yaml"):
            given = self.read(path)
            self.assertEqual(len(given.places), 1)
        self.assertEqual(self.built(), ["kustomize /overlays/dev"] * 3)

    def test_a_kustomization_that_only_lists_is_read_with_lines(self) -> None:
        """Where building changes nothing, the files themselves are read, those in other folders, too."""
        self.base()
        self.manifest("resources: [../base]\n", "all/kustomization.yaml")
        self.assertEqual(self.ingresses(self.read("all")), {"default/web": "base/ingress.yaml:1"})
        self.assertEqual(self.ingresses(self.read()), {"default/web": "base/ingress.yaml:1"})
        self.assertEqual(self.built(), [])

    def test_what_is_built_by_another_is_not_built_itself(self) -> None:
        """Of a tree of kustomizations the root is built; one of flux that goes by the same name is none."""
        self.base()
        self.overlay("dev")
        self.manifest("resources: [overlays/dev]\nnamespace: x\n", "kustomization.yaml")
        self.manifest(an_ingress("of-root"), "built")
        flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: x}\n"
        self.manifest(flux, "flux/kustomization.yaml")
        self.assertEqual(list(self.ingresses(self.read())), ["default/of-root"])
        self.assertEqual(self.built(), ["kustomize "])

    def test_a_circle(self) -> None:
        """Kustomizations that refer to each other are built once, and what the program says to that is told."""
        self.manifest("resources: [../b]\nnamePrefix: x\n", "a/kustomization.yaml")
        self.manifest("resources: [../a]\nnamePrefix: x\n", "b/kustomization.yaml")
        self.assertEqual(len(self.told_of_files(self.read())), 1)
        self.assertEqual(self.built(), ["kustomize /a"])

    def test_components_are_not_built(self) -> None:
        """A component is a part of others, and its patches are no objects."""
        self.manifest("kind: Component\npatches: [{path: patch.yaml}]\n", "component/kustomization.yaml")
        self.manifest(an_ingress("patch"), "component/patch.yaml")
        self.manifest(an_ingress(), "a.yaml")
        self.assertEqual(list(self.ingresses(self.read())), ["default/web"])
        self.assertEqual(self.built(), [])

    def test_a_program_that_fails(self) -> None:
        """Its own words are a finding of the kustomization, the same each time, and the files are read as they stand."""
        self.base()
        self.overlay("dev")
        (self.folder / "overlays/dev/built").unlink()
        given = self.read()
        self.assertEqual(
            self.told_of_files(given),
            ['overlays/dev/kustomization.yaml: kubectl kustomize failed: no matches for Id "x"'],
        )
        self.assertEqual(self.ingresses(given), {"default/web": "base/ingress.yaml:1"})
        self.assertEqual(self.run_command("lint", str(self.folder)).exit_code, 1)

    def test_words_of_a_program_are_made_printable(self) -> None:
        """What a program says to a terminal is not done."""
        self.program("kubectl", "#!/bin/sh\nprintf 'error: \\033[31mred\\nand more' >&2; exit 3\n")
        self.overlay("dev")
        output = self.run_command("lint", str(self.folder / "overlays/dev")).output
        self.assertNotIn("\033", output)

    def test_without_a_program(self) -> None:
        """Where neither program is at hand, the files are read as they stand, and a line says what to do."""
        self.base()
        self.overlay("dev")
        with patch.object(shutil, "which", lambda name: None):
            given = self.read()
        self.assertEqual(self.ingresses(given), {"default/web": "base/ingress.yaml:1"})
        ((what, why),) = self.unread(given)
        self.assertEqual(what, "overlays/dev/kustomization.yaml")
        self.assertIn("neither kubectl nor kustomize is at hand", why)
        self.assertIn("kubectl kustomize overlays/dev | ingressctl lint -", why)

    def test_the_other_program(self) -> None:
        """``kustomize build`` does where there is no ``kubectl``."""
        (self.programs / "kubectl").rename(self.programs / "kustomize")
        self.base()
        self.overlay("dev")
        which = shutil.which
        with patch.object(shutil, "which", lambda name: None if name == "kubectl" else which(name)):
            self.read()
        self.assertEqual(self.built(), ["build /overlays/dev"])

    def test_it_can_be_turned_off(self) -> None:
        """``--no-kustomize`` starts no program."""
        self.base()
        self.overlay("dev")
        result = self.run_command("lint", "--no-kustomize", str(self.folder))
        self.assertIn("is not built, as was asked for", " ".join(result.output.split()))
        self.assertEqual(self.built(), [])

    def test_a_broken_kustomization(self) -> None:
        """A kustomization that is no YAML is told of with its line."""
        self.manifest("resources: [\n", "kustomization.yaml")
        (told,) = self.told_of_files(self.read())
        self.assertTrue(told.startswith("kustomization.yaml:2: line 2: "), told)


class RemoteTests(KustomizeCase):
    """Nothing is fetched that nobody asked for."""

    def test_what_is_not_here_is_refused(self) -> None:
        """A base, resource, component or patch that lies elsewhere has nothing started; the rest is read as it stands."""
        self.base()
        elsewhere = (
            "resources: [https://example.com/x.yaml]",
            "resources: [ingress.yaml, github.com/org/repo]",
            "resources: [git@github.com:org/repo.git]",
            "resources: ['git::https://example.com/x']",
            "bases: [nowhere]",
            "components: ['ssh://git@example.com/x']",
            "patches: [{path: 'https://example.com/x.yaml'}]",
            "patchesStrategicMerge: ['https://example.com/x.yaml']",
            "configMapGenerator: [{name: x, files: ['a=https://example.com/x']}]",
            "transformers: ['https://example.com/x.yaml']",
            "openapi: {path: 'https://example.com/x.json'}",
        )
        os.makedirs(self.folder / "far" / "github.com/org/repo")
        for text in elsewhere:
            self.manifest(an_ingress("here"), "far/ingress.yaml")
            self.manifest(f"{text}\nnamePrefix: x\n", "far/kustomization.yaml")
            given = self.read()
            (_, why) = self.unread(given)[0]
            self.assertIn("nothing is fetched without --allow-remote-bases", why, text)
            self.assertIn("default/here", self.ingresses(given))
        self.assertEqual(self.built(), [])

    def test_what_plugins_refer_to(self) -> None:
        """Objects of plugins have paths of their own, here or in files; what a folder of such comes to is not known before."""
        plugin = (
            "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: 'http://127.0.0.1/x'}"
        )
        self.manifest(an_ingress("here"), "far/ingress.yaml")
        self.manifest(plugin, "far/plugin.yaml")
        self.manifest("resources: ['http://127.0.0.1/x']\n", "far/gen/kustomization.yaml")
        for text in (
            "transformers: [plugin.yaml]",
            "generators: [gen]",
            "validators: [gen]",
            f'transformers: ["{plugin}\\n"]',
            "generators: [\"{files: ['a=HTTP://127.0.0.1/x']}\\n\"]",
            'generators: ["{files: !!binary eA==}\\n"]',
        ):
            self.manifest(f"resources: [ingress.yaml]\n{text}\nnamePrefix: x\n", "far/kustomization.yaml")
            given = self.read()
            self.assertIn("nothing is fetched without --allow-remote-bases", self.unread(given)[0][1], text)
            self.assertIn("default/here", self.ingresses(given))
        self.assertEqual(self.built(), [])

    def test_what_kustomize_may_read_otherwise(self) -> None:
        """Names of fields in another case, tags, what is too large: these are faults, and of a base a reason to build nothing."""
        self.manifest(an_ingress("here"), "far/ingress.yaml")
        for text in (
            "Resources: ['http://127.0.0.1/x']",
            "patches: [{Path: 'http://127.0.0.1/x'}]",
            "patches: [{path: !!binary aHR0cDovLzEyNy4wLjAuMS94}]",
            "#" * 2**22 + "\nresources: ['http://127.0.0.1/x']",
            "---\n{}\n---\nresources: ['http://127.0.0.1/x']",
        ):
            self.manifest(f"{text}\nnamePrefix: x\n", "base/kustomization.yaml")
            self.manifest("resources: [ingress.yaml, ../base]\nnamePrefix: x\n", "far/kustomization.yaml")
            given = self.read()
            self.assertTrue(
                any(
                    "base/kustomization.yaml, which is not understood" in why for _, why in self.unread(given)
                ),
                text[:100],
            )
        self.assertEqual(self.built(), [])

    def test_a_pipe_is_no_kustomization(self) -> None:
        """Nobody waits for what is written to it."""
        self.manifest(an_ingress("here"), "a.yaml")
        os.mkfifo(self.folder / "kustomization.yaml")
        given = self.read()
        self.assertEqual(self.told_of_files(given), ["kustomization.yaml: is no file"])
        self.assertEqual(list(self.ingresses(given)), ["default/here"])

    def test_what_a_base_refers_to(self) -> None:
        """A base of a base counts as well."""
        self.manifest("resources: [https://example.com/x.yaml]\n", "base/kustomization.yaml")
        self.overlay("dev")
        self.manifest(an_ingress(), "a.yaml")
        self.assertIn("https://example.com/x.yaml", self.unread(self.read())[0][1])
        self.assertEqual(self.built(), [])

    def test_it_can_be_allowed(self) -> None:
        """``--allow-remote-bases`` leaves that to kustomize."""
        self.overlay("dev", text="resources: [https://example.com/x.yaml]\nnamePrefix: x\n")
        given = self.read(how=How(allows_remote=True))
        self.assertEqual(list(self.ingresses(given)), ["default/web"])

    def test_a_program_has_no_network(self) -> None:
        """What was misunderstood is not fetched either: git may speak no protocol, and the proxy is nobody."""
        self.base()
        self.overlay("dev")
        self.program(
            "kubectl", f"#!/bin/sh\necho $GIT_ALLOW_PROTOCOL $https_proxy >> {self.log.resolve()}; exit 1\n"
        )
        self.read()
        self.read(how=How(allows_remote=True))
        self.assertEqual(self.log.read_text().splitlines(), ["none http://127.0.0.1:9", ""])


class BoundsTests(KustomizeCase):
    """A program that does not end, or says too much, is ended."""

    def built_by(self, text: str, **bounds: float) -> str:
        """Return what is told of a program *text*."""
        self.program("kubectl", f"#!/bin/sh\n{text}\n")
        command = (str(self.programs.resolve() / "kubectl"), "kustomize")
        (one,) = build_all(
            command, ["x"], seconds=bounds.get("seconds", 20), most_bytes=int(bounds.get("most", 10))
        )
        self.assertEqual(one.content, b"")
        return one.fault

    def test_time(self) -> None:
        """One that waits for ever is ended, with what it has started, also when it has closed its output."""
        waiting = f"mkfifo {self.programs.resolve()}/$$; read x < {self.programs.resolve()}/$$"
        self.assertEqual(self.built_by(waiting, seconds=0.05), "kubectl kustomize took longer than 0.05 s")
        closed = f"exec 1>&- 2>&-; {waiting}"
        self.assertEqual(self.built_by(closed, seconds=0.05), "kubectl kustomize took longer than 0.05 s")

    def test_size(self) -> None:
        """One that says more than is read is ended."""
        self.assertIn("comes to more than", self.built_by("while :; do echo aaaaaaaaaaaaaaaaaaaa; done"))

    def test_much_complaint(self) -> None:
        """Of what it complains about, a few words are told."""
        told = self.built_by(
            "i=0; while [ $i -lt 9999 ]; do echo aaaaaaaaaaaaaaaaaaaaaaaaa; i=$((i+1)); done >&2; exit 1"
        )
        self.assertLess(len(told), 700)

    def test_nobody_wants_to_know(self) -> None:
        """One that runs when nobody asks for more is ended, and not waited for."""
        survived = self.programs.resolve() / "survived"
        self.program(
            "kubectl",
            f"#!/bin/sh\ncase $2 in *b) sleep 60; touch '{survived}' ;; esac\n",
        )
        found = build_all((str(self.programs.resolve() / "kubectl"), "kustomize"), ["a", "b"], seconds=120.0)
        self.assertEqual(next(found).fault, "")
        found.close()
        self.assertFalse(survived.exists())

    def test_nobody_may_end_its_session(self) -> None:
        """So some systems say of programs that have ended just now: those that run are ended all the same."""

        def refused(group: int, number: int) -> None:
            raise PermissionError

        self.patch(os, "killpg", refused)
        pipe = self.programs.resolve() / "pipe"
        os.mkfifo(pipe)
        text = f"case $2 in *b) echo > '{pipe}'; exec sleep 20 ;; *) read x < '{pipe}' ;; esac"
        self.program("kubectl", f"#!/bin/sh\n{text}\n")
        found = build_all((str(self.programs.resolve() / "kubectl"), "kustomize"), ["a", "b"], seconds=120.0)
        self.assertEqual(next(found).fault, "")
        found.close()

    def test_a_program_that_cannot_be_run(self) -> None:
        """That is told, too."""
        (one,) = build_all((str(self.folder), "kustomize"), ["x"])
        self.assertIn("cannot be run", one.fault)
