"""What to do, in order, to come here from ingress-nginx: what the report found first, and then the steps of any move."""

from collections.abc import Iterator

from ingress.ctl.migrate.config_map import NOT_HONORED
from ingress.ctl.migrate.firewall import PROCESSES
from ingress.ctl.migrate.migration import Migration
from ingress.ctl.pages.document import Code, Line, Reference
from ingress.wording import number_of


def checklist(migration: Migration) -> Iterator[Line]:
    """Yield the steps; those that there is nothing to do for are left out."""
    yield from _changes(migration)
    yield from _lost_arguments(migration)
    yield from _reading(migration)
    if migration.lacks_firewall:
        yield (
            "Build the image with ", Code("--build-arg FIREWALL=yes"), ": requests are to be inspected by ModSecurity, which the"
            " kustomization has by the component ", Code("firewall"), ", and the chart by ",
            Code("controller.extraArgs.firewall-processes"), ". All is judged here as without it; with it, by ",
            Code(f"-o {PROCESSES[2:]}"), ".",
        )  # fmt: skip
    yield (
        "Start this controller beside ingress-nginx, with an IngressClass and a load balancer of its own; ingress-nginx does not"
        " notice.",
    )
    yield from _options(migration)
    yield (
        "Move one Ingress that matters little: have its ",
        Code("ingressClassName"),
        " name the new class; to go back, name the old one.",
    )
    yield (
        "Have the controller serve all Ingresses without writing any status, and compare the answers of both addresses, as ",
        Code("ingressctl migrate --compare"),
        " does: it sends the same requests to both. Try logins, uploads and WebSockets besides.",
    )
    yield (
        "Move the address, or the Ingresses one after the other; both controllers run until the last has moved.",
    )
    yield (
        "Take ingress-nginx away, its admission webhook first, or no Ingress can be written any more; keep the IngressClass ",
        Code("nginx"),
        ".",
    )


def _options(migration: Migration) -> Iterator[Line]:
    where = ("the arguments that are ", Reference("listed below", "arguments")) if migration.arguments else ()
    if migration.config_map is not None and migration.config_map.keys:
        config_map = ("Give it the content of the ", Reference("ConfigMap", "configmap"), " as it is, and ")
        yield (*config_map, *(where or ("what ingress-nginx has in its arguments as options",)), ".")
    elif where:
        yield ("Give it ", *where, ".")


def _changes(migration: Migration) -> Iterator[Line]:
    count = migration.count
    where = Reference("one by one", "objects")
    if count.closed:
        some = "Ingress" if count.closed == 1 else f"{count.closed:,} Ingresses"
        why = ": what would keep somebody out is not honored here, or a path is not run."
        yield (f"Look at the {some} that would answer 503, ", where, why)
    patched = sum(bool(entry.changes) for entry in migration.entries)
    by_hand = sum(entry.by_hand for entry in migration.entries)
    if patched:
        yield (
            f"Read the patches of {number_of(patched, 'Ingress')}, which ",
            Code("--patches DIRECTORY"),
            " writes, and apply those that say what is meant. ingress-nginx understands them, too, so this can be done before"
            " anything moves; what never had an effect begins to have one by them.",
        )
    if by_hand:
        yield (
            f"Change {number_of(by_hand, 'Ingress')} by hand; what each needs is said ",
            where,
            ".",
        )
    keys = () if migration.config_map is None else migration.config_map.keys
    not_honored = sum(key.standing == NOT_HONORED for key in keys)
    if not_honored:
        yield (
            f"Decide about {number_of(not_honored, 'key')} of the ",
            Reference("ConfigMap", "configmap"),
            " that would have no effect.",
        )


def _lost_arguments(migration: Migration) -> Iterator[Line]:
    lost = sum(one.taken.is_lost for report in migration.arguments[:1] for one in report.arguments)
    if lost:
        yield (
            f"Decide about {number_of(lost, 'argument')} of ",
            Reference("ingress-nginx", "arguments"),
            " that would have no effect.",
        )


def _reading(migration: Migration) -> Iterator[Line]:
    count = migration.count
    if count.differs:
        yield (
            f"Read what differs with {number_of(count.differs, 'Ingress')}; nothing has to be changed for it.",
        )
    if migration.mistaken:
        some = number_of(migration.mistaken, "Ingress")
        yield (
            f"Tell the owners of {some} what is wrong there in either controller; it need not be mended before the move.",
        )
