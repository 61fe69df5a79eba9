"""Every file that is written from the alert table and the recording rules: its place in the repository and its text. Pure."""

from collections.abc import Mapping

from dashboards.alerts import alertmanager, grafana, kubernetes, prometheus, runbooks
from dashboards.alerts.wording import Place
from dashboards.rules import keep
from dashboards.rules.recording import recording_groups
from dashboards.yaml_text import yaml_text

WRITTEN = (
    "Written by `python -m dashboards.rules` from dashboards/alerts and dashboards/rules; do not edit. How to load it: docs/alerts.md."
)
GENERATED = "dashboards/generated"


def files(place: Place | None = None) -> Mapping[str, str]:
    """Path from the root of the repository → text. `place` is where a site serves runbooks and boards."""
    at = place or Place()
    made = {
        "prometheus/fabric-alerts.rules.yaml": yaml_text(prometheus.alert_groups(at), (WRITTEN, "Needs fabric-recording.rules.yaml.")),
        "prometheus/fabric-recording.rules.yaml": yaml_text(recording_groups(), (WRITTEN,)),
        "prometheus/remote-write.yaml": yaml_text(keep.remote_write(), (WRITTEN,
        "What a long-term store keeps: put the section into prometheus.yml.")),
        "prometheus/alertmanager.yaml": yaml_text(alertmanager.example(), (WRITTEN, "An example: fill the receivers.")),
        "kubernetes/fabric-prometheusrule.yaml": yaml_text(kubernetes.manifest(at), (WRITTEN,)),
        "grafana/fabric-alerting.yaml": yaml_text(grafana.provisioning(at), (WRITTEN,
        "Needs the recording rules in the data source; its uid goes in place of `prometheus`.")),
    }  # fmt: skip
    return {
        **{f"{GENERATED}/{name}": text for name, text in made.items()},
        **{f"docs/runbooks/{name}": text for name, text in runbooks.pages().items()},
    }
