"""Settings of serving, for tests whose process logs requests."""

from pathlib import Path
from typing import Any

from ingress.model.serving.log_formats import AccessLogSettings
from ingress.model.serving.serving_settings import ServingSettings


def logged_to(path: str | Path, **more: Any) -> ServingSettings:
    """Return what has the access log at *path*, and *more* of what serving goes by."""
    return ServingSettings(access_log=AccessLogSettings(destination=str(path)), **more)
