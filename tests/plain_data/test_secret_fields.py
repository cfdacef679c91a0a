"""Values of fields that nobody is shown."""

from attrs import frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.plain_data.values import settings_as_data, whole


@frozen
class _Edit:
    name: bytes
    value: str


@frozen
class _Settings:
    fields: tuple[tuple[str, str], ...]
    edits: tuple[_Edit, ...]
    names: tuple[str, ...]


class SecretFieldsTests(SynchronousTestCase):
    """``settings_as_data``."""

    def test_values_of_fields_that_tell_of_secrets(self) -> None:
        """They are left out, wherever name and value are; names, and what a request brings itself, are shown."""
        settings = _Settings(
            (("Authorization", "Bearer HIDDEN"), ("X-App-Secret", "HIDDEN"), ("X-Frame-Options", "DENY")),
            (_Edit(b"Cookie", "HIDDEN"), _Edit(b"X-Token", "$http_x_token"), _Edit(b"X-A", "b")),
            ("Authorization", "X-User"),
        )
        self.assertEqual(
            whole(settings_as_data(settings)),
            {
                "fields": [
                    ["Authorization", "(not shown)"],
                    ["X-App-Secret", "(not shown)"],
                    ["X-Frame-Options", "DENY"],
                ],
                "edits": [
                    {"name": "Cookie", "value": "(not shown)"},
                    {"name": "X-Token", "value": "$http_x_token"},
                    {"name": "X-A", "value": "b"},
                ],
                "names": ["Authorization", "X-User"],
            },
        )
