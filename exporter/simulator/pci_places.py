"""Where cards hang on the PCI buses of simulated nodes: paths from the root bus (`pci0000:15`) over the bridges to the card. Pure.

Knows no card.
"""


def below_switch(root: int, port: int) -> tuple[str, ...]:
    """At a downstream port (from 0 on) of the PCIe switch below root bus `root`: root port, switch upstream, switch downstream, card."""
    return (f"pci0000:{root:02x}", f"0000:{root:02x}:01.0", f"0000:{root + 1:02x}:00.0", f"0000:{root + 2:02x}:{port + 1:02x}.0",
            f"0000:{root + 3 + port:02x}:00.0")  # fmt: skip


def on_root_port(root: int) -> tuple[str, ...]:
    """Straight below the root port of root bus `root`."""
    return (f"pci0000:{root:02x}", f"0000:{root:02x}:01.0", f"0000:{root + 1:02x}:00.0")


def in_own_domain(domain: int) -> tuple[str, ...]:
    """Alone in a PCI domain, as each card of a Grace board is."""
    return (f"pci{domain:04x}:00", f"{domain:04x}:00:00.0", f"{domain:04x}:01:00.0")
