"""How many NVLinks boards wire that wire every port, by the product's name as NVML spells it, and their signalling rate. Data.

Only boards on which each GPU is wired in full: a bridge card's owner may have left the bridge away, so those are learned or configured.
Counts and rates: NVIDIA Health Validation's reference and NVIDIA/k8s-test-infra's captures [V], V100 Azure/azhpc-diagnostics#73 [V].
"""

from collections.abc import Mapping

from exporter.model.expected_links import Expected

_V100, _A100, _H100, _B200 = 25_781_000_000, 25_781_000_000, 26_562_000_000, 53_125_000_000
"""Bytes per second and direction as NVML states them (MB/s)."""

BOARDS: Mapping[str, Expected] = {
    r"(Tesla |NVIDIA )?V100-SXM[23]-.*": Expected(6, None, _V100),
    r"(NVIDIA )?A100-SXM4-.*": Expected(12, None, _A100),
    r"NVIDIA H100 80GB HBM3": Expected(18, None, _H100),
    r"NVIDIA H200": Expected(18, None, _H100),
    r"NVIDIA (B200|GB200|GB300)( .*)?": Expected(18, None, _B200),
}
"""Pattern of the whole product name → what it wires. Left out on purpose: A800 and H800 (8 links, unverified), GH200 (often alone, with
nothing at its ports), every PCIe and NVL board."""
