"""Pages of copies: the same series, busy counters higher by a constant, other serial numbers, everything else byte for byte."""

from exporter.cli.fleet.copies import BUSY, NODE_MARK, STEP, mould_of

PAGE = b"""\
# HELP fabric_t_bytes_total Bytes, 100 % of them.
# TYPE fabric_t_bytes_total counter
fabric_t_bytes_total{device="mlx5_0",port="1"} 5000000
fabric_t_bytes_total{device="mlx5_1",port="1"} 12
# HELP fabric_t_seconds_total Seconds.
# TYPE fabric_t_seconds_total counter
fabric_t_seconds_total 12345678.5
# HELP fabric_t_rate_bytes A gauge.
# TYPE fabric_t_rate_bytes gauge
fabric_t_rate_bytes{device="mlx5_0"} 50000000000
# HELP fabric_gpu_info Facts.
# TYPE fabric_gpu_info gauge
fabric_gpu_info{device="gpu0",uuid="GPU-c7192f49-b63a-50c2-9fab-bee3b86394a4"} 1
"""


def lines(page: bytes) -> set[str]:
    """The lines of a page."""
    return set(page.decode().splitlines())


def test_busy_counters_stand_higher_and_all_else_is_as_it_was() -> None:
    """Only the large counter and the serial number differ: gauges, small counters, fractions and help stay."""
    copy = mould_of(PAGE, {}).page(3, "node-0004")

    changed = lines(copy) - lines(PAGE)

    assert len(changed) == 2
    assert f'fabric_t_bytes_total{{device="mlx5_0",port="1"}} {5_000_000 + 3 * STEP}' in changed


def test_nodes_have_different_serial_numbers_that_stay_theirs() -> None:
    """A hundred nodes, a hundred GPUs; the second page of a node names the same one."""
    mould = mould_of(PAGE, {})

    serials = [mould.page(number, "n").partition(b"GPU-")[2][:8] for number in range(100)]

    assert len(set(serials)) == 100
    assert serials == [mould_of(PAGE, {}).page(number, "n").partition(b"GPU-")[2][:8] for number in range(100)]


def test_the_growth_of_a_counter_is_that_of_the_node_it_was_copied_from() -> None:
    """A counter that was moved once is moved for ever, even if it starts again at 0; one that was not never jumps."""
    busy: dict[bytes, bool] = {}
    mould_of(PAGE, busy)

    reset = PAGE.replace(b"} 5000000", b"} 7").replace(b"} 12", b"} %d" % (BUSY * 2))
    copy = mould_of(reset, busy).page(1, "n").decode()

    assert f'device="mlx5_0",port="1"}} {7 + STEP}\n' in copy
    assert f'device="mlx5_1",port="1"}} {BUSY * 2}\n' in copy


def test_the_mark_becomes_the_name_of_the_node() -> None:
    """As with --label.node on the node itself."""
    page = b'# TYPE up gauge\nup{node="%s"} 1\n' % NODE_MARK.encode()

    assert mould_of(page, {}).page(0, "node-0001") == b'# TYPE up gauge\nup{node="node-0001"} 1\n'
