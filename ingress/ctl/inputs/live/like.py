"""The options of a controller that runs in a cluster: by those its objects are judged there."""

from attrs import evolve

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.like import LikeOptions, read_arguments
from ingress.ctl.inputs.live.api_server import ApiServer, Forbidden
from ingress.ctl.inputs.workloads import WORKLOADS, controller_of, is_ours
from ingress.model.objects import ObjectKey


def options_like(server: ApiServer, key: ObjectKey) -> LikeOptions:
    """Return the options of the controller that the Deployment or DaemonSet *key* runs; raises ``Mistake``."""
    for kind, plural in WORKLOADS.items():
        found = server.single(f"/apis/apps/v1/namespaces/{key.namespace}/{plural}/{key.name}")
        if isinstance(found, Forbidden):
            raise Mistake(f"{kind} {key} may not be read: {found.why}")
        if found is not None:
            controller = controller_of(found, key.namespace)
            if controller is None:
                raise Mistake(f"{kind} {key} has no container with arguments of a controller")
            like = read_arguments(controller.words, controller.key.namespace)
            return like if is_ours(controller.words) else evolve(like, workloads=(controller,))
    raise Mistake(f"there is neither a Deployment nor a DaemonSet {key} at {server.url}")
