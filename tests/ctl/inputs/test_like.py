"""Which arguments of ingress-nginx are taken over."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.like import LikeOptions, read_arguments


class ReadArgumentsTests(SynchronousTestCase):
    """``read_arguments``."""

    def test_of_ingress_nginx(self) -> None:
        """What it has by the same name means the same here; a flag may say false."""
        for argument, text in {
            "--disable-svc-external-name": "disable-svc-external-name",
            "--disable-svc-external-name=true": "disable-svc-external-name",
            "--disable-svc-external-name=false": None,
            "--disable-catch-all=true": "disable-catch-all",
            "--watch-namespace-selector=team=a": "watch-namespace-selector=team=a",
        }.items():
            found = read_arguments(["/nginx-ingress-controller", argument], "system")
            self.assertEqual(found, LikeOptions(() if text is None else (text,)), argument)
