"""Filters that change the fields of all requests, or of all answers, in the same way."""

from ingress.filters import AnswerEdit, Facts, FieldChanges, Filter, RequestEdit


class ChangesAnswers(Filter):
    """Does the same changes to each answer."""

    def __init__(self, changes: FieldChanges) -> None:
        self.answer_changes = self._changes = changes

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        """Change an answer."""
        edit.change(self._changes)


class ChangesRequests(Filter):
    """Does the same changes to each request that goes to an endpoint."""

    def __init__(self, changes: FieldChanges) -> None:
        self._changes = changes

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        """Change a request."""
        edit.change(self._changes)
