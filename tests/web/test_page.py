"""The status page: what it says of each source, and that nothing on it can be mistaken for markup."""

from html.parser import HTMLParser

import pytest

from exporter.model.fault import Reason
from exporter.model.snapshot import EMPTY_SCENE, Scene, SourceStatus
from exporter.web.page import landing

NOW = 1_800_000_000.0


class Reader(HTMLParser):
    """Collects start tags with their attributes, and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.text.append(data)


def read(*sources: SourceStatus, version: str = "1.2.3", simulated: bool = False, path: str = "/metrics") -> Reader:
    reader = Reader()
    reader.feed(landing(Scene(1, NOW, 0.0, {}, tuple(sources)), version, simulated, NOW, path).decode())
    return reader


def row_of(status: SourceStatus) -> list[str]:
    """Texts of the cells of that source's row."""
    text = read(status).text
    return text[text.index("Faults") + 1 :]


def test_a_source_is_one_row() -> None:
    """Its name, state, devices, where it looked, when it last succeeded, what failed."""
    status = SourceStatus("infiniband", up=True, devices=10, last_success_wall_s=NOW - 3, looked_for="/sys/class/infiniband",
                          faults={Reason.UNSUPPORTED: 3, Reason.IO: 1, Reason.LOST: 0})  # fmt: skip
    row = [text for text in row_of(status) if text.strip()]

    assert row == ["infiniband", "up", "10", "/sys/class/infiniband", "3 s ago", "io 1, unsupported 3"]


def test_a_source_that_found_nothing_says_so() -> None:
    """Down, never, and what was looked for."""
    row = [text for text in row_of(SourceStatus("infiniband", up=False, devices=0, looked_for="/sys/class/infiniband")) if text.strip()]

    assert row == ["infiniband", "down", "0", "/sys/class/infiniband", "never", "none"]


def test_a_hung_device_is_named() -> None:
    """A person looking at the page looks for exactly that."""
    assert any("mlx5_3" in text for text in row_of(SourceStatus("infiniband", up=True, devices=4, hung=("mlx5_3",))))


@pytest.mark.parametrize(
    ("age_s", "said"), [(0, "0 s ago"), (119, "119 s ago"), (120, "2 min ago"), (7200, "2 h ago"), (864_000, "10 d ago"), (-5, "0 s ago")]
)
def test_an_age_is_said_in_a_persons_units(age_s: float, said: str) -> None:
    """A clock that was set back gives no negative age."""
    assert said in row_of(SourceStatus("x", up=True, devices=1, last_success_wall_s=NOW - age_s))


def test_before_the_first_pass_the_page_says_so() -> None:
    """No empty table."""
    assert b"No source has reported yet." in landing(EMPTY_SCENE, "1", False, NOW, "/metrics")  # noqa: FBT003


def test_a_simulated_node_wears_a_badge() -> None:
    """And a real one does not."""
    assert "SIMULATED" in read(simulated=True).text
    assert "SIMULATED" not in read().text


def test_links_lead_to_metrics_and_health() -> None:
    """To wherever the telemetry path is."""
    links = [attributes["href"] for tag, attributes in read(path="/fabric").tags if tag == "a"]

    assert links == ["/fabric", "/-/healthy", "/-/ready"]


def test_no_text_becomes_markup() -> None:
    """Names come from hardware, paths and versions from configuration; none may open a tag or leave an attribute."""
    evil = "\"><script>alert(1)</script>&amp;'\ud800"
    status = SourceStatus(evil, up=True, devices=1, hung=(evil,), looked_for=evil)
    reader = read(status, version=evil, path="/" + evil)

    assert "script" not in {tag for tag, _ in reader.tags}
    assert {name for _, attributes in reader.tags for name in attributes} <= {
        "lang",
        "charset",
        "name",
        "content",
        "href",
        "class",
        "scope",
    }


def test_the_page_asks_for_nothing() -> None:
    """No script, image, font or other host: it must work on an air-gapped node."""
    reader = read(SourceStatus("x", up=True, devices=1))

    assert not {tag for tag, _ in reader.tags} & {"script", "img", "link", "iframe"}
    assert not any("://" in (value or "") for _, attributes in reader.tags for value in attributes.values())
    assert not any("url(" in text or "@import" in text for text in reader.text)
