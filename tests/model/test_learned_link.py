"""What watching a link teaches, and how long it takes to be believed."""

from hypothesis import given
from hypothesis import strategies as st

from exporter.model.learned_link import LearnedLink, believed, learn
from exporter.model.link_capability import UNKNOWN, Capability

CARD = "0x15b3:0x1021"
X8, X16 = Capability(32_000_000_000, 8), Capability(32_000_000_000, 16)
WEEK_S = 7 * 86_400.0


def test_a_link_that_was_never_better_is_believed_after_its_time() -> None:
    """A slot wired for eight lanes that claims sixteen."""
    link = learn(None, CARD, X8, 1000.0)

    assert believed(link, CARD, 1000.0 + WEEK_S, WEEK_S) == X8


def test_a_link_that_is_bad_from_its_first_day_is_not_excused_at_once() -> None:
    """Nor by a restart the next morning."""
    assert believed(learn(None, CARD, X8, 1000.0), CARD, 1000.0 + WEEK_S - 1, WEEK_S) == UNKNOWN


def test_what_was_seen_once_stays_expected() -> None:
    """A link that ran at sixteen lanes and falls to eight has eight lost, however long ago."""
    link = learn(learn(None, CARD, X16, 0.0), CARD, X8, 50 * WEEK_S)

    assert believed(link, CARD, 99 * WEEK_S, WEEK_S) == X16


def test_another_card_starts_anew() -> None:
    """What the old one did says nothing of the new one."""
    link = learn(None, CARD, X8, 0.0)

    assert believed(link, "0x10de:0x2330", 2 * WEEK_S, WEEK_S) == UNKNOWN
    assert learn(link, "0x10de:0x2330", X16, WEEK_S) == LearnedLink("0x10de:0x2330", WEEK_S, X16)


def test_an_idle_gpu_is_expected_to_be_fast_again_once_it_was() -> None:
    """Asleep for a week it is believed slow; at its first work the expectation returns to what the link can do."""
    asleep, awake = Capability(2_500_000_000, 16), Capability(16_000_000_000, 16)
    link = learn(learn(None, CARD, asleep, 0.0), CARD, awake, WEEK_S)

    assert believed(link, CARD, WEEK_S + 1, WEEK_S) == UNKNOWN
    assert believed(link, CARD, 3 * WEEK_S, WEEK_S) == awake


def test_a_clock_set_back_believes_nothing() -> None:
    """Time that has not passed proves nothing."""
    assert believed(learn(None, CARD, X8, 1e9), CARD, 0.0, WEEK_S) == UNKNOWN


@given(st.lists(st.sampled_from([X8, X16, UNKNOWN, Capability(None, 4), Capability(2_500_000_000, None)]), min_size=1))
def test_what_was_learned_never_falls(sights: list[Capability]) -> None:
    """The best of all that was seen, and the same value while nothing is better."""
    link = None
    for moment_s, seen in enumerate(sights):
        before, link = link, learn(link, CARD, seen, float(moment_s))

        assert before is None or (link.best.lanes or 0) >= (before.best.lanes or 0)
    assert link is not None
    assert learn(link, CARD, sights[-1], 1e9) is link
