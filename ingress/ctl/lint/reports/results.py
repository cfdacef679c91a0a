"""What all formats print: a lint's report, with what of it a team accepts and which findings fail a build."""

from ingress.ctl.lint.accepted import AcceptedFinding
from ingress.ctl.lint.finding import Level, LintReport, ObjectReport, Standing
from ingress.model.frozen import frozen

_LOST = frozenset({Standing.IGNORED, Standing.NEVER_EXISTED, Standing.CLOSED})


@frozen
class Results:
    """*report* is without what is accepted; a finding of *fail_on* or worse fails, none does where that is None."""

    report: LintReport
    accepted: tuple[AcceptedFinding, ...] = ()
    shows_accepted: bool = False
    """Whether accepted findings are to be shown, and not only counted."""
    fail_on: Level | None = Level.ERROR
    folder: str = "/"
    """The current folder, an absolute path: what relative paths of places are relative to."""

    def fails_by(self, level: Level) -> bool:
        """Whether a finding of *level* fails."""
        return self.fail_on is not None and level >= self.fail_on

    @property
    def fails(self) -> bool:
        """Whether there is a finding that fails."""
        return any(self.fails_by(finding.level) for finding in self.report.findings)


@frozen
class Summary:
    """A lint in numbers.

    Objects are route objects.  Each of ours is one of three: honored *fully*; *differing*, where something is done otherwise
    or may not be what is meant; *partly*, where something that was asked for is not done.
    """

    objects: int
    ours: int
    fully: int
    differing: int
    partly: int
    errors: int
    warnings: int
    notes: int
    not_checked: int
    accepted: int


def summary(results: Results) -> Summary:
    """Count what *results* has."""
    report = results.report
    ours = [one for one in report.objects if one.is_ours]
    partly = sum(_is_partly_honored(one) for one in ours)
    differing = sum(not _is_partly_honored(one) and _differs(one) for one in ours)
    levels = [finding.level for finding in report.findings]
    return Summary(
        objects=len(report.objects),
        ours=len(ours),
        fully=len(ours) - partly - differing,
        differing=differing,
        partly=partly,
        errors=levels.count(Level.ERROR),
        warnings=levels.count(Level.WARNING),
        notes=levels.count(Level.NOTE),
        not_checked=len(report.not_checked),
        accepted=len(results.accepted),
    )


def _is_partly_honored(one: ObjectReport) -> bool:
    return any(finding.level is Level.ERROR for finding in one.findings) or any(
        annotation.standing in _LOST for annotation in one.annotations
    )


def _differs(one: ObjectReport) -> bool:
    return any(finding.level is Level.WARNING for finding in one.findings) or any(
        annotation.standing is not Standing.HONORED for annotation in one.annotations
    )
