"""What NCCL said: transports, choices and the reasons that follow, from lines of 2.4 to 2.32."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.probes.collectives import Collective
from exporter.probes.nccl_log import CHOICES_MAX, KEPT_MAX, read_log
from exporter.probes.nccl_words import Choice, NcclWords, SpeedChange, reasons
from exporter.probes.reasons import Failure
from tests.requires import need_data

LOGS = Path(__file__).parent / "nccl_logs"


def warned(message: str) -> NcclWords:
    """What one warning says."""
    return read_log(f"[2026-03-04 05:06:07] node-1:12:34 [2] misc/x.cc:9 (fn) NCCL WARN {message}")


def log(name: str) -> NcclWords:
    """One of our logs."""
    return read_log((LOGS / name).read_text())


def test_plugin_network_with_gdr() -> None:
    """A vendor's network by its own name, blanks included; suffixes /GDRDMA, (PCI) and /Shared; no IB device is no fault then."""
    words = log("plugin-2.30.txt")

    assert (words.network, words.net_channels, words.gdr_channels, words.has_gdr) == ("AWS Libfabric", 2, 2, True)
    assert words.versions == ("2.30.7+cuda13.1",)
    assert words.bootstrap_interfaces == ("ens5",)
    assert reasons(words, active_hcas=8) == ()


def test_links_within_the_node() -> None:
    """Peer-to-peer by kind, and shared memory, in channels."""
    words = log("plugin-2.30.txt")

    assert words.p2p == {"CUMEM": 2, "indirect": 1}
    assert words.shm_channels == 1


def test_how_long_ranks_took_to_come_together() -> None:
    """The init timings line: a fabric signal of its own."""
    (timing,) = log("plugin-2.30.txt").inits

    assert (timing.rank, timing.ranks, timing.total_s, timing.parts_s["bootstrap"]) == (0, 16, 2.41, 0.77)
    assert log("plugin-2.30.txt").ranks_ready == 1


def test_choice_by_whole_size() -> None:
    """Algorithm, protocol and channels of a size; NCCL counts an all-gather by one rank's block."""
    words = log("plugin-2.30.txt")

    assert words.choice(Collective.ALL_REDUCE, 256 << 20, 16) == Choice("AllReduce", 256 << 20, "NVLS_TREE", "SIMPLE", 8)
    assert words.choice(Collective.ALL_GATHER, 256 << 20, 16) == Choice("AllGather", 16 << 20, "PAT", "SIMPLE", 8)
    assert words.choice(Collective.ALL_REDUCE, 8, 16) is None
    assert words.choice(Collective.SEND_RECV, 256 << 20, 16) is None


def test_older_releases_name_choices_by_number() -> None:
    """Up to 2.23: numbers, and no word of the function."""
    assert log("numbers-2.21.txt").choice(Collective.ALL_REDUCE, 64 << 20, 8) == Choice("", 64 << 20, "RING", "SIMPLE", None)


def test_changes_of_rate_and_fatal_events() -> None:
    """A port that changed its rate while NCCL ran, one of which the new rate is not known, and an event of the device."""
    words = log("numbers-2.21.txt")

    assert words.speed_changes == (SpeedChange("mlx5_3", 1, 400_000, 200_000), SpeedChange("mlx5_0", 1, 400_000, None))
    assert words.async_events == ("mlx5_0:1 async fatal event: port error",)
    assert words.hcas == ("mlx5_0:1", "mlx5_3:1")
    assert reasons(words, active_hcas=2) == (Failure.REMOTE_ERROR,)


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        ("Bootstrap : no socket interface found", Failure.NO_SOCKET_INTERFACE),
        ("Error: failed to extend /dev/shm/nccl-Ab3 to 9637892 bytes, error: No space left on device (28)", Failure.SHM_TOO_SMALL),
        ("Call to posix_fallocate failed : No space left on device", Failure.SHM_TOO_SMALL),
        ("Mismatched NCCL version detected : rank 0 version 22703 rank 1 version 22105", Failure.NCCL_VERSION_MISMATCH),
        ("Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1 to enable this", Failure.DUPLICATE_GPU),
        ("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", Failure.DUPLICATE_GPU),
        ("Cuda failure 2 'out of memory'", Failure.OOM),
        ("Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'", Failure.NO_LIBCUDA),
        ("NET/IB: Got completion from peer 192.0.2.1<4> with status=12 opcode=0 len=0 vendor err 129", Failure.IB_COMPLETION_ERROR),
        ("NET/IB: Got completion from peer 192.0.2.1<4> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=1", Failure.IB_COMPLETION_ERROR),
        ("socketProgress: Connection closed by remote peer node-2<5>", Failure.REMOTE_ERROR),
        ("Failed to initialize any NET plugin", Failure.INIT_ERROR),
    ],
)
def test_warnings_have_meanings(message: str, failure: Failure) -> None:
    """Strings of NCCL's source, over its releases."""
    assert reasons(warned(message), active_hcas=0) == (failure,)


def test_cause_comes_before_what_follows_from_it() -> None:
    """Peers lose their connection because one rank ran out of memory: the first warning names the cause."""
    words = read_log("n:1:2 [0] NCCL INFO Cuda failure 2 'out of memory'\nn:1:3 [1] x.cc:1 NCCL WARN Connection closed by remote peer")

    assert reasons(words, active_hcas=0)[0] is Failure.OOM


@pytest.mark.parametrize(("hcas", "found"), [(0, ()), (2, (Failure.NET_FALLBACK_SOCKET,))])
def test_socket_is_a_fall_back_only_where_hcas_are_active(hcas: int, found: tuple[Failure, ...]) -> None:
    """A node without InfiniBand goes over TCP by right (NVIDIA/nccl#451)."""
    words = read_log("n:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.1<0>\nn:1:2 [0] NCCL INFO Using network Socket")

    assert reasons(words, active_hcas=hcas) == found


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=80) | st.sampled_from((LOGS / "plugin-2.30.txt").read_text().splitlines()).flatmap(
    lambda line: st.integers(0, len(line)).map(lambda cut: line[cut:] + line[:cut])), max_size=20))  # fmt: skip
def test_any_lines_are_survived(lines: list[str]) -> None:
    """The log is for people and may be cut anywhere: no line is an error."""
    assert isinstance(reasons(read_log("\n".join(lines)), 1), tuple)


def test_what_is_kept_is_bounded() -> None:
    """A log without end costs no memory without end."""
    lines = [f"n:1:2 [0] x.cc:1 NCCL WARN failure {index}" for index in range(10_000)]
    lines += [f"n:1:2 [0] NCCL INFO AllReduce: {index} Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..1}}" for index in range(10_000)]
    words = read_log("\n".join(lines))

    assert (len(words.warnings), len(words.choices)) == (KEPT_MAX, CHOICES_MAX)


class TestLogsOfIssues:
    """Logs written after upstream issues (FABRIC_TEST_DATA)."""

    @pytest.mark.parametrize(
        ("name", "network", "channels", "gdr", "found"),
        [
            ("ib-gdrdma-2.21", "IB", 4, 4, ()),
            ("ib-no-gdr-2.21", "IB", 4, 0, (Failure.GDR_OFF,)),
            ("gdr-one-direction", "IB", 4, 2, ()),
            ("socket-fallback-2.4", "Socket", 2, 0, (Failure.NET_FALLBACK_SOCKET,)),
            ("roce-no-gdr-then-error-2.27", "IB", 2, 0, (Failure.IB_COMPLETION_ERROR, Failure.REMOTE_ERROR, Failure.GDR_OFF)),
        ],
    )
    def test_each(self, name: str, network: str, channels: int, gdr: int, found: tuple[Failure, ...]) -> None:
        """Network, GPUDirect RDMA by channel, and the reasons, on a node with active HCAs; one direction only is no fault."""
        words = read_log((need_data() / f"rewritten/nccl-debug/{name}.log").read_text())

        assert (words.network, words.net_channels, words.gdr_channels) == (network, channels, gdr)
        assert reasons(words, active_hcas=4) == found
