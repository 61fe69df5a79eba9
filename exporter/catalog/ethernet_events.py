"""Known events of Ethernet ports: what each means and which role it plays. Data, no behaviour.

Names are the kernel's (files of /sys/class/net/<interface>/statistics) or the driver's own (ethtool). Sources: torvalds/linux
Documentation/networking/statistics.rst and device_drivers/ethernet/mellanox/mlx5/counters.rst, drivers/net/ethernet/{broadcom/bnxt,
intel/ice, amazon/ena, google/gve}/*_ethtool.c, drivers/net/virtio_net.c.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from exporter.model.metric import Role


@dataclass(frozen=True, slots=True)
class EthernetEvent:
    """Meaning of one event; `role` where a rule may ask for it."""

    help: str
    role: Role | None = None


_FULL = EthernetEvent("Packets dropped for lack of a receive buffer of the host's: the host was slow.", Role.OVERRUNS)

KERNEL_EVENTS: Mapping[str, EthernetEvent] = {
    "rx_errors": EthernetEvent("Bad packets received, as the driver sums them up.", Role.ERRORS),
    "tx_errors": EthernetEvent("Packets that could not be sent."),
    "rx_dropped": EthernetEvent("Packets received but not processed, for lack of memory or of a use."),
    "tx_dropped": EthernetEvent("Packets dropped on their way out."),
    "rx_crc_errors": EthernetEvent("Packets received with a CRC error: cable, connector or transceiver."),
    "rx_frame_errors": EthernetEvent("Packets received misaligned."),
    "rx_length_errors": EthernetEvent("Packets received with a bad length."),
    "rx_fifo_errors": EthernetEvent("Packets dropped because a receive queue overran."),
    "rx_missed_errors": EthernetEvent("Packets the device dropped for lack of a host buffer.", Role.OVERRUNS),
    "rx_over_errors": EthernetEvent("Packets dropped because the receiver overran."),
    "tx_carrier_errors": EthernetEvent("Packets not sent because carrier was lost."),
    "tx_fifo_errors": EthernetEvent("Packets not sent because a queue ran dry."),
}
"""Files of statistics/ that are events; the others are traffic, or details that only half-duplex media have."""

MLX5_EVENTS: Mapping[str, EthernetEvent] = {
    "link_down_events_phy": EthernetEvent("mlx5: times the port went down; 64 bit, never full.", Role.LINK_DOWNS),
    "rx_discards_phy": EthernetEvent("mlx5: packets received and dropped for lack of port buffers.", Role.DISCARDS),
    "tx_discards_phy": EthernetEvent("mlx5: packets to send that were dropped: link down, head of line, pause.", Role.DISCARDS),
    "tx_errors_phy": EthernetEvent("mlx5: packets not sent, too long for the MTU."),
    "rx_crc_errors_phy": EthernetEvent("mlx5: packets received with a CRC error.", Role.ERRORS),
    "rx_symbol_err_phy": EthernetEvent("mlx5: packets received with a coding error.", Role.ERRORS),
    "rx_in_range_len_errors_phy": EthernetEvent("mlx5: packets received with a wrong length field."),
    "rx_out_of_range_len_phy": EthernetEvent("mlx5: packets received that are longer than allowed: the peer's MTU differs."),
    "rx_oversize_pkts_phy": EthernetEvent("mlx5: packets received that exceed the MTU: the peer's differs."),
    "rx_undersize_pkts_phy": EthernetEvent("mlx5: packets received that are shorter than 64 bytes."),
    "rx_fragments_phy": EthernetEvent("mlx5: short packets received with a CRC error."),
    "rx_jabbers_phy": EthernetEvent("mlx5: long packets received with a CRC error."),
    "rx_unsupported_op_phy": EthernetEvent("mlx5: control packets received with an unknown opcode."),
    "rx_buffer_passed_thres_phy": EthernetEvent("mlx5: times the port's receive buffer was over 85 % full."),
    "rx_pause_ctrl_phy": EthernetEvent("mlx5: link layer pause frames received, PFC not included."),
    "tx_pause_ctrl_phy": EthernetEvent("mlx5: link layer pause frames sent, PFC not included."),
    "tx_pause_storm_warning_events": EthernetEvent("mlx5: times the port sent pause frames for long."),
    "tx_pause_storm_error_events": EthernetEvent(
        "mlx5: times the port sent pause frames so long that it was stopped from it: packets may be lost.", Role.PAUSE_STORMS),
    "rx_out_of_buffer": _FULL,
    "dev_out_of_buffer": EthernetEvent("mlx5: times a queue of the device's own lacked buffers."),
    "rx_steer_missed_packets": EthernetEvent("mlx5: packets received that no flow rule wanted."),
    "module_unplug": EthernetEvent("mlx5: times the transceiver was taken out."),
    "module_bus_stuck": EthernetEvent("mlx5: times the transceiver's management bus was stuck."),
    "module_high_temp": EthernetEvent("mlx5: times the transceiver was too hot."),
    "module_bad_shorted": EthernetEvent("mlx5: times the cable was shorted."),
    "outbound_pci_stalled_rd_events": EthernetEvent("mlx5: seconds with PCIe reads stalled over 30 %."),
    "outbound_pci_stalled_wr_events": EthernetEvent("mlx5: seconds with PCIe writes stalled over 30 %."),
    "outbound_pci_buffer_overflow": EthernetEvent("mlx5: packets dropped because PCIe did not keep up.", Role.DISCARDS),
    "rx_pci_signal_integrity": EthernetEvent("mlx5: PCIe recoveries this side began after CRC or framing errors."),
    "tx_pci_signal_integrity": EthernetEvent("mlx5: PCIe recoveries the other side began."),
}  # fmt: skip

BNXT_EVENTS: Mapping[str, EthernetEvent] = {
    "link_down_events": EthernetEvent("bnxt_en: times the port went down.", Role.LINK_DOWNS),
    "rx_fcs_err_frames": EthernetEvent("bnxt_en: frames received with a CRC error.", Role.ERRORS),
    "rx_align_err_frames": EthernetEvent("bnxt_en: frames received misaligned."),
    "rx_ovrsz_frames": EthernetEvent("bnxt_en: frames received that are too long."),
    "rx_jbr_frames": EthernetEvent("bnxt_en: long frames received with a CRC error."),
    "rx_mtu_err_frames": EthernetEvent("bnxt_en: frames received that exceed the MTU."),
    "rx_runt_frames": EthernetEvent("bnxt_en: frames received that are too short."),
    "rx_stat_discard": EthernetEvent("bnxt_en: frames received and dropped by the port.", Role.DISCARDS),
    "rx_stat_err": EthernetEvent("bnxt_en: frames received with any error."),
    "tx_stat_discard": EthernetEvent("bnxt_en: frames to send that the port dropped.", Role.DISCARDS),
    "tx_stat_error": EthernetEvent("bnxt_en: frames sent with any error."),
    "tx_fcs_err_frames": EthernetEvent("bnxt_en: frames sent with a CRC error."),
    "tx_fifo_underruns": EthernetEvent("bnxt_en: frames cut off because data came too late from the host."),
    "rx_total_discard_pkts": EthernetEvent("bnxt_en: packets received and dropped in any ring.", Role.OVERRUNS),
    "tx_total_discard_pkts": EthernetEvent("bnxt_en: packets to send dropped in any ring."),
    "continuous_pause_events": EthernetEvent("bnxt_en: times the port paused the network for long.", Role.PAUSE_STORMS),
    "resume_pause_events": EthernetEvent("bnxt_en: times such a pause ended."),
    "continuous_roce_pause_events": EthernetEvent("bnxt_en: times the RoCE class paused the network for long.", Role.PAUSE_STORMS),
    "resume_roce_pause_events": EthernetEvent("bnxt_en: times such a pause of the RoCE class ended."),
    "rx_buffer_passed_threshold": EthernetEvent("bnxt_en: times the port's receive buffer passed its threshold."),
    "rx_fec_corrected_blocks": EthernetEvent("bnxt_en: FEC blocks received in error and mended."),
    "rx_fec_uncorrectable_blocks": EthernetEvent("bnxt_en: FEC blocks received beyond repair."),
}

ICE_EVENTS: Mapping[str, EthernetEvent] = {
    "rx_crc_errors.nic": EthernetEvent("ice: packets received with a CRC error.", Role.ERRORS),
    "rx_length_errors.nic": EthernetEvent("ice: packets received with a bad length."),
    "rx_oversize.nic": EthernetEvent("ice: packets received that are too long."),
    "rx_undersize.nic": EthernetEvent("ice: packets received that are too short."),
    "rx_fragments.nic": EthernetEvent("ice: short packets received with a CRC error."),
    "rx_jabber.nic": EthernetEvent("ice: long packets received with a CRC error."),
    "illegal_bytes.nic": EthernetEvent("ice: illegal bytes received."),
    "mac_local_faults.nic": EthernetEvent("ice: faults that this end's MAC saw."),
    "mac_remote_faults.nic": EthernetEvent("ice: faults that the other end reported."),
    "rx_dropped.nic": EthernetEvent("ice: packets received and dropped by the port.", Role.DISCARDS),
    "tx_dropped_link_down.nic": EthernetEvent("ice: packets to send dropped because the link was down.", Role.DISCARDS),
    "tx_errors.nic": EthernetEvent("ice: packets that could not be sent."),
    "tx_timeout.nic": EthernetEvent("ice: times a transmit queue hung."),
}

CLOUD_EVENTS: Mapping[str, EthernetEvent] = {
    "bw_in_allowance_exceeded": EthernetEvent("ena: packets queued or dropped, inbound bandwidth above the instance's.", Role.DISCARDS),
    "bw_out_allowance_exceeded": EthernetEvent("ena: packets queued or dropped, outbound bandwidth above the instance's.", Role.DISCARDS),
    "pps_allowance_exceeded": EthernetEvent("ena: packets queued or dropped, more packets per second than the instance's."),
    "conntrack_allowance_exceeded": EthernetEvent("ena: packets dropped, connection tracking full."),
    "linklocal_allowance_exceeded": EthernetEvent("ena: packets to local services dropped, too many per second."),
    "tx_timeout": EthernetEvent("ena: times a transmit queue hung."),
    "wd_expired": EthernetEvent("ena: times the device stopped answering its watchdog and was reset."),
    "interface_down": EthernetEvent("ena: times the interface was taken down."),
    "admin_q_pause": EthernetEvent("ena: times the command queue was paused."),
    "ena_admin_q_no_completion": EthernetEvent("ena: commands that were never answered."),
    "tx_timeouts": EthernetEvent("gve: times a transmit queue hung."),
    "reset_cnt": EthernetEvent("gve: times the device was reset."),
    "interface_down_cnt": EthernetEvent("gve: times the interface was taken down."),
    "rx_buf_alloc_fail": EthernetEvent("gve: packets dropped for lack of a receive buffer.", Role.OVERRUNS),
    "rx_skb_alloc_fail": EthernetEvent("gve: packets dropped for lack of memory."),
    "rx_desc_err_dropped_pkt": EthernetEvent("gve: packets dropped because of a bad descriptor."),
    "dma_mapping_error": EthernetEvent("gve: buffers that could not be mapped."),
    "adminq_timeouts": EthernetEvent("gve: commands that were never answered."),
    "adminq_cmd_fail": EthernetEvent("gve: commands that failed."),
    "rx_drops": EthernetEvent("virtio_net: packets received and dropped in any queue."),
    "tx_tx_timeouts": EthernetEvent("virtio_net: times a transmit queue hung."),
}

ETHERNET_EVENTS: Mapping[str, EthernetEvent] = {**KERNEL_EVENTS, **MLX5_EVENTS, **BNXT_EVENTS, **ICE_EVENTS, **CLOUD_EVENTS}
"""Every value that the label `event` of fabric_ethernet_events_total can have."""
