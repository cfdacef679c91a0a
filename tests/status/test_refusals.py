"""Tests for ``ingress.status.refusals``."""

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import KubernetesError
from ingress.status.refusals import Refusals, Right, is_forbidden, write_status

FORBIDDEN = KubernetesError(403, "Forbidden", "events is forbidden")


class RefusalsTests(SynchronousTestCase):
    """What is said about rights."""

    def test_once(self) -> None:
        """A missing right is said once, with what there is not without it, and what the API server says."""
        refusals = Refusals()
        with capturedLogs() as events:
            for _ in range(3):
                refusals.refused(Right.WRITE_EVENTS, FORBIDDEN)
            refusals.refused(write_status("Ingresses", "ingresses/status", "they show no address"), FORBIDDEN)
        self.assertEqual(len(events), 2)
        self.assertIn("Not permitted to write Events", formatEvent(events[0]))
        self.assertIn("events is forbidden", formatEvent(events[0]))
        self.assertIn("served all the same", formatEvent(events[0]))

    def test_granted(self) -> None:
        """That it was granted is said once, and only if it was refused."""
        refusals = Refusals()
        with capturedLogs() as events:
            refusals.granted(Right.LEAD)
            refusals.refused(Right.LEAD, FORBIDDEN)
            refusals.granted(Right.LEAD)
            refusals.granted(Right.LEAD)
            refusals.refused(Right.LEAD, FORBIDDEN)
        self.assertEqual(len(events), 3)
        self.assertEqual(
            formatEvent(events[1]), "Permitted now to take part in the election (leases: get, create, update)"
        )

    def test_end_of_a_namespace(self) -> None:
        """That nothing can be created in a namespace that is being deleted is no missing right."""
        message = 'events "x" is forbidden: unable to create new content in namespace a because it is being terminated'
        self.assertFalse(is_forbidden(KubernetesError(403, "Forbidden", message)))
        self.assertTrue(is_forbidden(FORBIDDEN))
        self.assertFalse(is_forbidden(KubernetesError(401, "Unauthorized", "x")))
