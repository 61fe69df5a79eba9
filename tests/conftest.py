"""Settings of hypothesis for the whole suite: no deadlines (a busy machine is not a bug), and a blob that repeats a failure elsewhere."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("desk", deadline=None, print_blob=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("desk"), max_examples=200)
settings.load_profile("ci" if os.environ.get("FABRIC_NO_SKIP") == "1" else "desk")
