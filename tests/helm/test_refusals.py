"""What is wrong in a values file is refused before anything is installed, with its path or with what to do."""

import pytest

from helm.values_file import read, values
from tests.helm.chart import RefusedError, release

ON = {"enabled": True}
TLS = {"enabled": True, "existingSecret": "certificate"}
HASH = "$2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze"
BY_SCHEMA = {
    "an unknown key": ({"tolerationz": []}, "tolerationz"),
    "an unknown key below": ({"serviceMonitor": {"enable": True}}, "/serviceMonitor"),
    "a key in the wrong place": ({"image": {"priorityClassName": "x"}}, "/image"),
    "an option of the exporter that does not exist": ({"config": {"sources": {"infiniband": {"fast_intervall": "1s"}}}}, "fast_intervall"),
    "an interval that is none": (
        {"config": {"sources": {"infiniband": {"fast_interval": "5 parsecs"}}}},
        "/config/sources/infiniband/fast_interval",
    ),
    "an option that is the chart's": ({"config": {"web": {"listen_addresses": [":1"]}}}, "listen_addresses"),
    "a boolean as a text": ({"hostNetwork": "false"}, "/hostNetwork"),
    "a text as a number": ({"image": {"tag": 1.5}}, "/image/tag"),
    "a password in place of a hash": ({"basicAuth": {"users": {"prometheus": "secret"}}}, "/basicAuth/users/prometheus"),
    "a port that is none": ({"port": 70000}, "/port"),
    "an interval without a unit": ({"serviceMonitor": {"interval": "15"}}, "/serviceMonitor/interval"),
    "a digest that is cut short": ({"image": {"digest": "sha256:abc"}}, "/image/digest"),
    "a toleration's misspelt effect": ({"tolerations": [{"key": "a", "effect": "NoSchedul"}]}, "/tolerations/0/effect"),
    "a header that is not known": ({"webHeaders": {"X-Own": "1"}}, "X-Own"),
    "a map where a list belongs": ({"extraEnv": {"A": "1"}}, "/extraEnv"),
    "a relative folder": ({"state": {"hostPath": "var/lib"}}, "/state/hostPath"),
}
BY_TEMPLATE = {
    "two monitors": ({"serviceMonitor": ON, "podMonitor": ON}, "scraped twice"),
    "a ServiceMonitor without a Service": ({"serviceMonitor": ON, "service": {"enabled": False}}, "use podMonitor"),
    "TLS without a certificate": ({"tls": ON}, "tls.existingSecret"),
    "cert-manager without an issuer": ({"tls": {"enabled": True, "certManager": ON}}, "tls.certManager.issuerRef"),
    "passwords for nobody": ({"basicAuth": ON}, "basicAuth.users"),
    "a monitor without the password": (
        {"basicAuth": {"enabled": True, "users": {"a": HASH}}, "serviceMonitor": ON}, "basicAuth.monitorSecret.name"),
    "client certificates without TLS": (
        {"tls": {"clientAuth": {"enabled": True, "caSecret": "x"}}, "webHeaders": {"X-Frame-Options": "deny"}}, "tls.enabled"),
    "client certificates of nobody": ({"tls": {**TLS, "clientAuth": ON}}, "tls.clientAuth.caSecret"),
    "a monitor without its certificate": (
        {"tls": {**TLS, "clientAuth": {"enabled": True, "caSecret": "x"}}, "podMonitor": ON}, "tls.clientAuth.monitorSecret"),
    "an alert that is not there": ({"prometheusRule": {"enabled": True, "disabled": ["FabricNone"]}}, "FabricNone"),
    "an override of an alert that is not there": (
        {"prometheusRule": {"enabled": True, "overrides": {"FabricNone": {"for": "1m"}}}}, "FabricNone"),
    "a board that is not there": ({"dashboards": {"enabled": True, "only": ["fabric-none"]}}, "fabric-fleet"),
    "an image without a name": ({"image": {"repository": ""}}, "image.repository"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", sorted(BY_SCHEMA))
def test_the_schema_refuses_it_and_names_the_path(mistake: str) -> None:
    """helm-charts#3875: a key in the wrong place was accepted and ignored."""
    given, words = BY_SCHEMA[mistake]

    with pytest.raises(RefusedError, match="schema") as refused:
        release(given)
    assert words in str(refused.value)


@pytest.mark.parametrize("mistake", sorted(BY_TEMPLATE))
def test_what_does_not_go_together_is_refused_with_what_to_do(mistake: str) -> None:
    """Rather than a target that stays down."""
    given, words = BY_TEMPLATE[mistake]

    with pytest.raises(RefusedError) as refused:
        release(given)
    assert words in str(refused.value)


@pytest.mark.parametrize("path", [value.path for value in values(read())], ids=".".join)
def test_any_value_may_be_null(path: tuple[str, ...]) -> None:
    """It takes the default away (helm/charts#18389: a nil pointer); only the image's name cannot be done without."""
    given: dict[str, object] = {path[-1]: None}
    for key in reversed(path[:-1]):
        given = {key: given}

    if path in {("image",), ("image", "repository")}:
        with pytest.raises(RefusedError, match=r"image\.repository"):
            release(given)
    else:
        assert release(given).container["ports"] == release().container["ports"]


def test_everything_may_be_null_but_the_image_s_name() -> None:
    """All sections at once."""
    given = dict.fromkeys((value.path[0] for value in values(read())), None) | {"image": {"repository": "fabric-exporter"}}

    assert [one["kind"] for one in release(given).objects] == ["ConfigMap", "DaemonSet"]
