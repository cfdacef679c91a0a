"""What comes of an ingress-nginx with what is around it, as ``kubectl kustomize`` builds it."""

import re
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.ingress_nginx.installation import Surroundings, belonging
from ingress.ctl.migrate.arguments import arguments_report
from ingress.ctl.migrate.installation.carried import Fate
from ingress.ctl.migrate.migration import ArgumentsReport
from tests.ctl.inputs.controllers import workload
from tests.k8s_case import K8S, rendered


def report_of(*around: dict[str, Any], args: tuple[str, ...] = (), **fields: Any) -> ArgumentsReport:
    """What is told of a workload with *args* and *fields*, as the test helpers have it, beside the objects *around*."""
    raw = [one for one in (belonging(one, "default") for one in around) if one is not None]
    return arguments_report(workload(*args, **fields), Surroundings(raw))


def said(report: ArgumentsReport) -> dict[str, tuple[Fate, str]]:
    """What becomes of each field, and why."""
    return {one.field: (one.fate, one.why) for one in report.around}


def fates(report: ArgumentsReport) -> dict[str, str]:
    """What becomes of each field, in a word."""
    return {field: fate.name for field, (fate, _) in said(report).items()}


def in_its_place(text: str) -> str:
    """A kustomization as its comments have it once ingress-nginx is gone: what a person makes of it by hand."""
    text = re.sub(r"# Once ingress-nginx is gone: (.*)\n +value: .*", r"value: \1", text)
    text = re.sub(r"(?m)^ +- --(?:ingress-class=txingress|controller-class=txingress/ingress)\n", "", text)
    text = re.sub(r"(?m)^( *)# (?=- \"?--(?!admission))", r"\1", text)
    text = re.sub(r"(?m)^  # (?=- target| +patch)", "  ", text)
    return re.sub(r"(?m)^      # (?=- op:|  )", "      ", text)


class InstallationCase(SynchronousTestCase):
    """Builds the kustomization."""

    def build(
        self, report: ArgumentsReport, *, is_gone: bool = False
    ) -> dict[tuple[str, str], dict[str, Any]]:
        """All objects by kind and name: beside ingress-nginx, or once that *is_gone*."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir(parents=True)
        above = "/".join([".."] * len(folder.parts[1:]))
        for name, text in report.files.items():
            text = in_its_place(text) if is_gone else text
            (folder / name).write_text(text.replace("../txingress/k8s", f"{above}{K8S}"), "utf-8")
        return {(one["kind"], one["metadata"]["name"]): one for one in rendered(folder)}

    def overlay(self, name: str) -> dict[tuple[str, str], dict[str, Any]]:
        """The same of an overlay alone."""
        return {(one["kind"], one["metadata"]["name"]): one for one in rendered(f"overlays/{name}")}
