"""List options, and lists: pages of one consistent content."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from attrs import frozen

from tests.fakes.apiserver.calls import is_true
from tests.fakes.apiserver.history import History
from tests.fakes.apiserver.kinds import Json, ResourceType
from tests.fakes.apiserver.selectors import Predicate, selector
from tests.fakes.apiserver.statuses import StatusError, expired, invalid_options

_MATCHES = ("Exact", "NotOlderThan")
_LIST_METADATA = ("resourceVersion", "continue", "remainingItemCount")


@frozen
class ListOptions:
    """The query of a list or watch, read as ``meta/v1`` ``ListOptions`` defines it."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    watch: bool = False
    allow_bookmarks: bool = False
    send_initial_events: bool | None = None
    timeout_seconds: int = 0

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> ListOptions:
        """Read a query; raise 400 for values that do not parse."""
        initial = query.get("sendInitialEvents")
        return cls(
            label_selector=query.get("labelSelector", ""),
            field_selector=query.get("fieldSelector", ""),
            resource_version=query.get("resourceVersion", ""),
            resource_version_match=query.get("resourceVersionMatch", ""),
            limit=_number(query, "limit"),
            continue_token=query.get("continue", ""),
            watch=is_true(query.get("watch")),
            allow_bookmarks=is_true(query.get("allowWatchBookmarks")),
            send_initial_events=None if initial is None else is_true(initial),
            timeout_seconds=_number(query, "timeoutSeconds"),
        )

    def check(self, *, streaming_list: bool) -> None:
        """Raise 422 for combinations that the API refuses."""
        match, initial = self.resource_version_match, self.send_initial_events
        if self.watch:
            if match and initial is None:
                raise invalid_options(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                )
            if initial is not None and not streaming_list:
                raise invalid_options(
                    "sendInitialEvents",
                    "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
                )
            if initial is not None and match != "NotOlderThan":
                raise invalid_options(
                    "resourceVersionMatch",
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                )
            return
        if initial is not None:
            raise invalid_options("sendInitialEvents", "sendInitialEvents is forbidden for list")
        if match and not self.resource_version:
            raise invalid_options(
                "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
            )
        if match and match not in _MATCHES:
            raise invalid_options("resourceVersionMatch", "supported values: Exact, NotOlderThan")

    def predicate(self, kind: ResourceType, namespace: str) -> Predicate:
        """Return what an object has to satisfy: namespace, labels and fields."""
        matches = selector(kind, self.label_selector, self.field_selector)
        if not namespace:
            return matches
        return lambda obj: obj["metadata"].get("namespace") == namespace and matches(obj)


def version_number(text: str) -> int:
    """Return the number of a resource version, 0 for none; raise 400."""
    if not text:
        return 0
    if not text.isdecimal():
        raise StatusError(400, f'Invalid value: "{text}": invalid resource version')
    return int(text)


def list_page(history: History, kind: ResourceType, namespace: str, options: ListOptions) -> Json:
    """
    Return one page of a list.

    All pages of a list show the content at the version of its first page. A
    token from before the window is answered 410 with another token, which
    goes on with the content of today, as the API does.
    """
    start, at = ("", ""), None
    asked = version_number(options.resource_version)
    if options.continue_token:
        if asked:
            raise StatusError(400, "specifying resource version is not allowed when using continue")
        start, at = _read_token(options.continue_token)
        if at is not None and at < history.oldest:
            raise StatusError(
                410,
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter, or use the continue token in "
                "this response to retrieve the remainder of the results.",
                metadata={"continue": _write_token(start, None)},
            )
    elif asked > history.version:
        raise too_large(asked, history.version)
    elif options.resource_version_match == "Exact":
        if asked < history.oldest:
            raise expired(asked, history.oldest)
        at = asked
    version = history.version if at is None else at
    matches = options.predicate(kind, namespace)
    found = [(key, obj) for key, obj in history.content(kind, at) if key >= start and matches(obj)]
    page = found[: options.limit] if options.limit else found
    metadata: Json = {"resourceVersion": str(version)}
    if len(page) < len(found):
        metadata["continue"] = _write_token(found[len(page)][0], version)
        if not (options.label_selector or options.field_selector):
            metadata["remainingItemCount"] = len(found) - len(page)
    return {
        "kind": f"{kind.kind}List",
        "apiVersion": kind.api_version,
        "metadata": metadata,
        "items": [_bare(obj) for _, obj in page],
    }


def as_table(answer: Json) -> Json:
    """Return an object, or a list of some, as the table without objects that ``includeObject=None`` asks for."""
    objects = answer.get("items", [answer])
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {key: value for key, value in answer["metadata"].items() if key in _LIST_METADATA},
        "columnDefinitions": [{"name": "Name", "type": "string", "format": "name"}],
        "rows": [{"cells": [one["metadata"]["name"]]} for one in objects],
    }


def too_large(asked: int, current: int) -> StatusError:
    """Say that a version lies in the future."""
    return StatusError(
        504,
        f"Too large resource version: {asked}, current: {current}",
        details={
            "retryAfterSeconds": 1,
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        },
    )


def _bare(obj: Json) -> Json:
    """Return an object as it stands in a list: without kind and apiVersion."""
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def _write_token(start: tuple[str, str], at: int | None) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": -1 if at is None else at, "start": list(start)})
    return base64.urlsafe_b64encode(text.encode()).decode()


def _read_token(token: str) -> tuple[tuple[str, str], int | None]:
    try:
        content = json.loads(base64.urlsafe_b64decode(token))
        namespace, name = content["start"]
        version = int(content["rv"])
    except (ValueError, KeyError, TypeError):
        raise StatusError(400, "continue key is not valid") from None
    return (str(namespace), str(name)), None if version < 0 else version


def _number(query: Mapping[str, str], name: str) -> int:
    text = query.get(name) or "0"
    if not text.isdecimal():
        raise StatusError(400, f'{name}: Invalid value: "{text}"')
    return int(text)
