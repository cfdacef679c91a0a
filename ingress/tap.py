"""The command line of ``twistd ingress``: text to ``Settings``, and settings to a service.

Nothing but parsing happens here; the options stand in ``ingress.options.table``.  What is
wrong with the command line is told in one line on standard error, and the process ends with
status 1; twistd would print its whole help first.  This is the only module that names the global
reactor, and it imports the rest of the house only when a service is made, so
that ``twistd --help`` stays quick.
"""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from attrs import evolve
from twisted.python import usage

from ingress.options.help import INTRODUCTION, help_text
from ingress.options.option import DEFAULTS, Option, contradictions, settings_with
from ingress.options.table import SPELLINGS
from ingress.options.values import read_description
from ingress.process.systemd.sockets import HandedOver
from ingress.process.version import running_code
from ingress.settings import Settings

if TYPE_CHECKING:
    from twisted.application.service import IService


def _read_description(text: str) -> str:
    return read_description(text, _global_reactor())


class Options(usage.Options):
    """The options of ``twistd ingress``.  ``settings()`` is what they come to."""

    synopsis = "[options]"
    longdesc = INTRODUCTION

    def __init__(self) -> None:
        super().__init__()
        self._given: dict[Option, list[Any]] = {}
        self.handed_over = HandedOver()
        """The sockets that were open before the process."""

    def give(self, spelling: str, text: str = "") -> None:
        """Take the option of this *spelling*, with its *text* if it has one."""
        option = SPELLINGS[spelling]
        read = _read_description if option.read is read_description else option.read
        try:
            value = option.sets if read is None else read(text)
        except ValueError as error:
            raise usage.UsageError(f"--{spelling} {text!r}: {error}") from None
        self._given.setdefault(option, []).append(value)

    def opt_help(self) -> None:
        """Print the help and exit, also where nobody reads it to its end."""
        try:
            print(self, flush=True)  # noqa: T201 - the answer to --help
        except BrokenPipeError:
            # The interpreter would write what is left once more, and say that it cannot.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)

    def opt_version(self) -> None:
        """Print the version and exit."""
        try:
            print(f"txingress {version('txingress')} ({running_code()})")  # noqa: T201 - the answer to --version
        except PackageNotFoundError:
            raise usage.UsageError(
                "--version: txingress is not installed, so its version is unknown"
            ) from None
        raise SystemExit(0)

    def parseArgs(self, *arguments: str) -> None:
        """Refuse what is not an option."""
        if arguments:
            raise usage.UsageError(f"unexpected argument {arguments[0]!r}; every setting is an option")

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Parse; what is wrong ends the process with one line on standard error, status 1."""
        # Now: Twisted takes the same variables once it reads a description.
        self.handed_over = HandedOver.taken_from(os.environ, os.getpid())
        try:
            super().parseOptions(options)
        except usage.UsageError as error:
            # What was typed may hold line breaks, and the parser quotes it as it is.
            raise SystemExit(f"ingress: {' '.join(str(error).splitlines())}") from None

    def postOptions(self) -> None:
        """Refuse options that contradict each other."""
        for contradiction in contradictions({option.name: option for option in self._given}):
            raise usage.UsageError(contradiction)
        from ingress.process.logs.program_log import other_log

        other = "" if self.parent is None else other_log(self.parent)
        for name in ("log-format", "log-level"):
            if other and name in self.given:
                raise usage.UsageError(
                    f"--{name} has no say where twistd {other} has somebody else write the log"
                )
        self._prepare_takeover()

    def _prepare_takeover(self) -> None:
        """Keep ``twistd`` from refusing to start beside the process that is to be taken over."""
        from ingress.errors import StartError
        from ingress.process.pid_file import PidFile
        from ingress.takeover.successor import inherited_from

        self.pid_file = PidFile(self.parent)
        try:
            self.inherited = inherited_from(os.environ)
        except StartError as error:
            raise usage.UsageError(str(error)) from None
        if self.inherited is not None or "takeover" in self.given:
            self.pid_file.keep()

    @property
    def given(self) -> frozenset[str]:
        """The names of the options that were given."""
        return frozenset(option.name for option in self._given)

    def settings(self) -> Settings:
        """Return everything that was decided, frozen."""
        return settings_with(
            DEFAULTS, {option: option.joined(values) for option, values in self._given.items()}
        )

    def getUsage(self, width: int | None = None) -> str:
        """Return the help: one paragraph an option, in groups."""
        return help_text(width or min(shutil.get_terminal_size().columns, 100))


def _taking(spelling: str, option: Option) -> Callable[..., None]:
    """Return the method by which Twisted hands over an option; those of flags take no text."""

    def take_flag(self: Options) -> None:
        self.give(spelling)

    def take(self: Options, text: str) -> None:
        self.give(spelling, text)

    return take_flag if option.read is None else take


for _spelling, _option in SPELLINGS.items():
    setattr(Options, f"opt_{_spelling.replace('-', '_')}", _taking(_spelling, _option))


def makeService(options: Options) -> "IService":
    """Make the service that twistd runs; what makes that impossible ends the process in one line."""
    from ingress.cluster_side import source_of
    from ingress.errors import StartError
    from ingress.metrics.metrics import Metrics
    from ingress.options.firewall_options import lacks_processes
    from ingress.process.caps.caps import caps_of_system, workers_of_use
    from ingress.process.interpreter import Interpreter
    from ingress.process.lifecycle import (
        act_on_signals,
        end_with,
        is_to_be_a_daemon,
        stop_on_signals,
        stop_reactor,
    )
    from ingress.process.logs.log_output import spare_the_reactor
    from ingress.process.logs.program_log import ProgramLog
    from ingress.process.secrecy import hide_memory
    from ingress.process.steady_time import keep_steady_time
    from ingress.process.systemd.announcing import Announcer
    from ingress.process.systemd.notify import Systemd
    from ingress.service import IngressService
    from ingress.takeover.successor import this_command
    from ingress.takeover.takeover import Takeover
    from ingress.tracing.tracing import missing_for
    from ingress.translate.readers.route_kinds import kinds_served

    reactor = _global_reactor()
    keep_steady_time(reactor)
    settings = options.settings()
    if settings.workers == 0:
        settings = evolve(settings, workers=workers_of_use(caps_of_system()))
    systemd = Systemd.taken_from(os.environ, os.getpid())
    try:
        metrics = Metrics()
        kinds = kinds_served(gateway_api=settings.translate.gateway.is_served)
        takeover = Takeover(
            reactor,
            settings.takeover,
            options.inherited,
            options.pid_file,
            this_command(),
            systemd.environment,
            is_first=os.getpid() == 1,
        )
        source = source_of(settings, reactor, metrics, kinds, lambda: takeover.is_following)
        # There must be no thread before other processes are forked from this one.
        output = spare_the_reactor(is_held=settings.workers is not None)
        metrics.log_lines_dropped = output.dropped
        program_log = ProgramLog(settings.log_form, settings.serving.log_level, options.parent)
        output.missing = program_log.missing

        def failed(error: StartError) -> None:
            announcer.failed(error)
            end_with(reactor, error, output.drain)

        if settings.serving.access_log.destination is None and is_to_be_a_daemon(options.parent):
            raise StartError(
                "a daemon has no standard output: name a file by --access-log, or run twistd with -n"
            )

        missing = missing_for(settings.serving.tracing)
        if missing:
            raise StartError(f"--tracing-endpoint {missing}")
        lacking = lacks_processes(options.given)
        if lacking:
            raise StartError(lacking)
        if settings.translate.firewall.processes:
            from ingress.firewall.process import check_installed

            check_installed()
            # They are of the same user, and have parsed what visitors sent.
            hide_memory()

        def left(process: int) -> None:
            systemd.hand_over(process, "has taken over")
            stop_reactor(reactor)

        interpreter = Interpreter(reactor)
        service = IngressService(
            settings,
            reactor,
            source,
            failed,
            metrics,
            interpreter.settle,
            options.given,
            kinds=kinds,
            handed_over=options.handed_over,
            takeover=takeover,
            left=left,
            program_log=program_log,
        )
    except StartError as error:
        systemd.status(str(error))
        raise SystemExit(f"ingress: {error}") from None
    announcer = Announcer(systemd, reactor, service.missing, service.serving_in_words)
    act_on_signals(reactor, (program_log.reopen, service.reopen_files), takeover.start_successor)
    reactor.callWhenRunning(output.begin)
    reactor.callWhenRunning(interpreter.set_up)
    reactor.callWhenRunning(stop_on_signals, reactor, service.hurry)
    reactor.callWhenRunning(announcer.start)
    made: IService = service
    return made


def _global_reactor() -> Any:
    """Return the reactor that twistd runs; importing it earlier would choose it too soon."""
    from twisted.internet import reactor  # noqa: TID251 - the one place that may name it

    return reactor
