"""``ingressctl migrate``."""

import os
from collections.abc import Container, Iterator
from errno import ELOOP
from itertools import islice
from pathlib import Path
from typing import Final

import click

from ingress.ctl.commands.compare_parameters import AskedComparison, compare_parameters
from ingress.ctl.commands.input_parameters import Source, live_parameters, option_parameter, paths_parameter
from ingress.ctl.commands.migration_input import read_migration_input
from ingress.ctl.commands.reading_inputs import tell_unread, tell_unserved
from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.input import Input
from ingress.ctl.inputs.live.live_cluster import LiveCluster, SecretReading
from ingress.ctl.installed import installed_version
from ingress.ctl.lint.linting import lint
from ingress.ctl.migrate.as_json import as_json
from ingress.ctl.migrate.assessing import assess
from ingress.ctl.migrate.installation.kustomization import (
    KUSTOMIZATION,
    installation_files,
    is_of_controller,
    is_of_installation,
)
from ingress.ctl.migrate.migration import Asked, Migration
from ingress.ctl.migrate.owners import USUAL_LABELS
from ingress.ctl.migrate.patching.edited_files import EditedFiles
from ingress.ctl.migrate.patching.patch_files import (
    COMMANDS,
    MANIFESTS,
    NOT_EDITED,
    OBJECTS,
    ROOT_MANIFESTS,
    is_of_object,
    patch_files,
)
from ingress.ctl.migrate.patching.patches import ReadFile, patches_of
from ingress.ctl.migrate.writing import MOST_OBJECTS, entries_in_detail, write
from ingress.ctl.pages.html import as_html
from ingress.ctl.pages.markdown import as_markdown
from ingress.ctl.terminal import printable, say, tell
from ingress.wording import number_of

FORMATS: Final = ("markdown", "html", "json")
# A pipe that nobody reads is no file to wait for.
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SUFFIXES: Final = {".html": "html", ".htm": "html", ".json": "json"}


@click.command("migrate")
@paths_parameter
@option_parameter
@live_parameters
@click.option(
    "--output",
    type=click.Choice(FORMATS),
    help="The format; without it by the name of --output-file, else markdown.",
)
@click.option(
    "--output-file", metavar="FILE", type=click.Path(), help="Write the page there; - is standard output."
)
@click.option(
    "--owner-label",
    "owner_labels",
    metavar="NAME",
    multiple=True,
    help=f"The label that says whose an Ingress is; repeatable, then the most used counts. Tried otherwise: {', '.join(USUAL_LABELS)}.",
)
@click.option(
    "--patches",
    "patches_directory",
    metavar="DIRECTORY",
    type=click.Path(),
    help="Write a patch for each file, and for each Ingress, there, and what installs this controller like ingress-nginx.",
)
@compare_parameters
def command(
    paths: tuple[str, ...],
    options: tuple[str, ...],
    source: Source,
    output: str | None,
    output_file: str | None,
    owner_labels: tuple[str, ...],
    patches_directory: str | None,
    comparison: AskedComparison | None,
) -> None:
    """Write the report of a move from ingress-nginx: what works, what differs, and what has to change.

    It is one page, for a team that has to decide.  The exit status is 0 whatever it says.

    With --compare, the same requests go to ingress-nginx and to this controller, and the page says where the answers differ.
    The exit status is then 1 where any do.
    """
    form = output or _SUFFIXES.get(Path(output_file or "").suffix.lower(), "markdown")
    if comparison is not None:
        if owner_labels or patches_directory is not None:
            raise Mistake("--owner-label and --patches are for the report without --compare")
        text, status = _compared(comparison, paths, options, source, form)
        try:
            _put(text, output_file, "the requests" if comparison.dry_run else "the comparison")
        except Mistake:
            # It took minutes, and is not lost for a name.
            say(text.removesuffix("\n"))
            raise
        raise SystemExit(status)
    given = read_migration_input(paths, options, source)
    migration = assess(given, lint(given), owner_labels)
    asked = Asked(installed_version(), (*_source_words(source), *paths), options, owner_labels)
    read = EditedFiles(given.path, paths).read
    text = _text(given, migration, asked, form, read)
    if patches_directory is not None:
        _write_patches(migration, Path(patches_directory), read)
    _put(text, output_file, f"the report of {number_of(migration.count.whole, 'Ingress')}")


def _compared(
    comparison: AskedComparison, paths: tuple[str, ...], options: tuple[str, ...], source: Source, form: str
) -> tuple[str, int]:
    # Who asks for the report does not wait for what speaks TLS.
    from ingress.ctl.commands.comparing import compare

    has_objects = bool(paths) or isinstance(source, LiveCluster)
    given = read_migration_input(paths, options, source) if has_objects else None
    if given is not None:
        tell_unread(given)
        tell_unserved(given)
    return compare(comparison, given, form)


def _put(text: str, output_file: str | None, what: str) -> None:
    if output_file is None or output_file == "-":
        say(text.removesuffix("\n"))
    else:
        _write(Path(output_file), text)
        tell(printable(f"wrote {what} into {output_file}"))


def _text(given: Input, migration: Migration, asked: Asked, output: str, read: ReadFile) -> str:
    if output == "json":
        return as_json(migration, asked)
    detailed = list(islice(entries_in_detail(migration), MOST_OBJECTS))
    fields = ((one.place, one.object_id, field) for one in detailed for field in one.fields if field)
    document = write(migration, asked, patches_of(detailed, read), given.exact_places(fields))
    return as_html(document) if output == "html" else as_markdown(document)


def _write_patches(migration: Migration, directory: Path, read: ReadFile) -> None:
    patches = patches_of(migration.entries, read)
    installations = installation_files(migration.arguments)
    files = {**patch_files(patches), **installations}
    _remove_earlier(directory, files)
    for name, text in files.items():
        _write_below(directory, name, text)
    kustomizations = [name for name in installations if name.endswith(KUSTOMIZATION)]
    edited = sum(bool(one.edits) for one in patches.objects)
    tell(
        printable(
            f"wrote {number_of(len(files), 'file')} into {directory}: patches of"
            f" {number_of(len(patches.objects), 'object')}, {edited:,} of them in their manifests"
            + (f", and {number_of(len(kustomizations), 'kustomization')}" if kustomizations else "")
        )
    )


def _remove_earlier(directory: Path, files: Container[str]) -> None:
    """Remove what an earlier run wrote into *directory* and this one, with *files*, does not: nobody is to apply it."""
    names = [MANIFESTS, ROOT_MANIFESTS, COMMANDS, NOT_EDITED]
    try:
        names += _in_folders(directory)
        for name in names:
            if name not in files:
                (directory / name).unlink(missing_ok=True)
    except OSError as error:
        raise Mistake(f"{error.filename or directory}: {error.strerror or error}") from None


def _in_folders(directory: Path) -> Iterator[str]:
    """Yield the names of the files in folders of *directory* that are called as ours are."""
    for folder in directory.iterdir() if directory.is_dir() else ():
        is_ours = is_of_object if folder.name == OBJECTS else is_of_installation
        if folder.name != OBJECTS and not is_of_controller(folder.name):
            continue
        if folder.is_dir() and not folder.is_symlink():
            yield from (f"{folder.name}/{path.name}" for path in folder.iterdir() if is_ours(path.name))


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise Mistake(f"{path}: {error.strerror or error}") from None


def _write_below(directory: Path, name: str, text: str) -> None:
    """Write a file of *directory*, or of a folder in it: no link that waits there leads out of it."""
    path = directory / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent != directory and path.parent.is_symlink():
            raise Mistake(f"{path.parent}: is a link, and nothing is written to where it leads")
        with os.fdopen(os.open(path, _NEW, 0o666), "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        why = "is a link, and is not followed" if error.errno == ELOOP else error.strerror or error
        raise Mistake(f"{path}: {why}") from None


def _source_words(source: Source) -> Iterator[str]:
    """Yield the words by which *source* was chosen, without what a URL says of users."""
    named: dict[str, str | None] = {}
    if isinstance(source, LiveCluster):
        yield "--live"
        named = {
            "--kubeconfig": source.kubeconfig,
            "--context": source.context,
            "--server": source.server,
            "--like": source.like,
        }
        if source.secrets is not SecretReading.NAMES:
            named["--secrets"] = source.secrets.value
    else:
        if not source.builds:
            yield "--no-kustomize"
        if source.allows_remote:
            yield "--allow-remote-bases"
        named["--like"] = source.like
    for name, value in named.items():
        if value and not (name == "--server" and "@" in value):
            yield f"{name}={value}"
    if source.all_namespaces:
        yield "--all-namespaces"
    for namespace in source.namespaces:
        yield f"--namespace={namespace}"
