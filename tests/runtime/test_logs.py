"""Log lines: one an event, whatever it says; each fault once."""

import json
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.fault import Fault, Reason
from exporter.runtime.log_once import REMEMBERED_MAX, FaultLog
from exporter.runtime.logs import JsonFormatter, LogfmtFormatter, set_up
from tests.runtime.conftest import Records
from tests.runtime.fakes import fault

FORMATTERS = [LogfmtFormatter(), JsonFormatter()]


def record(message: str, *, with_traceback: bool = False, name: str = "fabric_exporter.test") -> logging.LogRecord:
    """A record of ours."""
    found = logging.LogRecord(name, logging.WARNING, __file__, 1, "%s", (message,), None)
    if with_traceback:
        try:
            raise ValueError(message)  # noqa: TRY301  # a real traceback is wanted
        except ValueError:
            found.exc_info = sys.exc_info()
    found.created = 1_800_000_000.25
    return found


def test_logfmt_line_has_time_level_logger_and_message() -> None:
    """Quoted where it needs quotes."""
    assert LogfmtFormatter().format(record("it is so")) == 'ts=2027-01-15T08:00:00.250Z level=warning logger=test msg="it is so"'


def test_json_line_has_the_same_fields() -> None:
    """One object."""
    assert json.loads(JsonFormatter().format(record('a "b"'))) == {
        "ts": "2027-01-15T08:00:00.250Z", "level": "warning", "logger": "test", "msg": 'a "b"',
    }  # fmt: skip


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["logfmt", "json"])
def test_traceback_stands_on_the_same_line(formatter: logging.Formatter) -> None:
    """Escaped; a collector sees one event."""
    line = formatter.format(record("boom", with_traceback=True))

    assert "\n" not in line
    assert "\\n" in line
    assert "ValueError: boom" in line


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["logfmt", "json"])
@given(st.text())
def test_any_message_is_one_line(formatter: logging.Formatter, message: str) -> None:
    """Device names and files can hold any bytes."""
    line = formatter.format(record(message))

    assert "\n" not in line
    assert "\r" not in line


@given(st.text())
def test_message_survives_json(message: str) -> None:
    """What is read back is what was said."""
    assert json.loads(JsonFormatter().format(record(message)))["msg"] == message


@pytest.mark.parametrize("form", ["logfmt", "json"])
def test_set_up_writes_to_stderr_once_however_often_it_is_called(form: str, capsys: pytest.CaptureFixture[str], records: Records) -> None:
    """A reload sets it up again."""
    for _ in range(3):
        set_up("info", form)
    logging.getLogger("fabric_exporter.test").warning("one\nevent")
    found = capsys.readouterr()

    assert (found.out, found.err.count("\n")) == ("", 1)
    assert records.kept == []


def test_set_up_holds_back_what_is_below_the_level(capsys: pytest.CaptureFixture[str], records: Records) -> None:
    """By name, in lower case."""
    set_up("error", "logfmt")
    logging.getLogger("fabric_exporter.test").warning("quiet")

    assert capsys.readouterr().err == ""


def test_fault_is_logged_once_per_subject_and_reason(records: Records) -> None:
    """A new reason or another subject is news."""
    log = FaultLog()
    for _ in range(3):
        log.write([fault(Reason.IO), fault(Reason.PARSE), fault(Reason.IO, "b"), fault(Reason.IO, source="other")])

    assert records.messages == [
        "cannot read source=test device=a reason=io: is io",
        "cannot read source=test device=a reason=parse: is parse",
        "cannot read source=test device=b reason=io: is io",
        "cannot read source=other device=a reason=io: is io",
    ]


def test_fault_with_another_detail_is_the_same_fault(records: Records) -> None:
    """Details may hold numbers that change with each pass."""
    log = FaultLog()
    for n in range(3):
        log.write([Fault("test", "a", Reason.PARSE, f"says '{n}'")])

    assert len(records.kept) == 1


@pytest.mark.parametrize("reason", Reason)
def test_reasons_that_are_normal_on_some_hardware_are_no_warning(reason: Reason, records: Records) -> None:
    """A line, but not an alarm."""
    FaultLog().write([fault(reason)])

    assert records.kept[0].levelno == (logging.INFO if reason in (Reason.ABSENT, Reason.UNSUPPORTED) else logging.WARNING)


def test_number_of_faults_remembered_is_bounded(records: Records) -> None:
    """Beyond it they are counted only: neither memory nor log is flooded."""
    log = FaultLog()
    log.write([fault(Reason.IO, f"d{n}") for n in range(REMEMBERED_MAX + 500)])
    log.write([fault(Reason.IO, f"d{n}") for n in range(REMEMBERED_MAX + 500)])

    assert len(records.kept) == REMEMBERED_MAX


def test_end_of_a_hang_is_logged_and_the_next_hang_again(records: Records) -> None:
    """Changes of state, not polls."""
    log = FaultLog()
    for _ in range(2):
        log.write([fault(Reason.TIMEOUT), fault(Reason.TIMEOUT)])
        log.answers_again("test", "a", 12.34)

    assert [message.split(" source")[0] for message in records.messages] == ["cannot read", "answers again"] * 2
    assert records.messages[1] == "answers again source=test device=a elapsed_s=12.3"
