"""All boards, every question that they ask, and the files that ship. `python -m dashboards.shipped` writes the files anew."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from dashboards.board import Asked, Board, Expect, expectation, grafana, selector_of
from dashboards.boards import exporter, fleet, infiniband, job, link, node, nvlink, pcie, probes
from dashboards.normal import normal, text_of

BOARDS: tuple[Board, ...] = (fleet.BOARD, node.BOARD, link.BOARD, nvlink.BOARD, infiniband.BOARD, pcie.BOARD, probes.BOARD, job.BOARD,
                             exporter.BOARD)  # fmt: skip
"""Every board, in the order of docs/dashboards.md."""
FOLDER = Path(__file__).parent / "generated" / "dashboards"
"""Where the files lie in the repository."""


def queries() -> tuple[Asked, ...]:
    """Every question that the boards put to Prometheus, in their order: variables, annotations, then panels."""
    return tuple(asked for board in BOARDS for asked in _asked(board))


def panels_without_data() -> tuple[tuple[str, str], ...]:
    """Board uid and title of every panel that no fleet fills with this version, in order: those whose rows nothing measures yet."""
    silent = [(board.uid, tile.title) for board in BOARDS for tile in board.tiles
              if tile.queries and all(expectation(query)[0] is Expect.NEVER for query in tile.queries)]  # fmt: skip
    return tuple(silent)


PANELS_WITHOUT_DATA = panels_without_data()
"""Board uid and title of the panels that stay empty until the probes exist."""


def files() -> Mapping[str, str]:
    """File name → content of every board."""
    return {f"{board.uid}.json": text_of(normal(grafana(board))) for board in BOARDS}


def write(folder: Path) -> None:
    """Write every board, and take away files of boards that are no more."""
    folder.mkdir(parents=True, exist_ok=True)
    made = files()
    for old in folder.glob("*.json"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


def _asked(board: Board) -> Iterator[Asked]:
    for variable in board.variables:
        yield Asked(board.uid, f"variable {variable.name}", selector_of(variable, board), "", Expect.DATA, "", is_instant=True)
    for annotation in board.annotations:
        yield Asked(board.uid, f"annotation {annotation.name}", board.scope.fill(annotation.query.text), annotation.query.unit,
                    *expectation(annotation.query))  # fmt: skip
    for tile in board.tiles:
        for query in tile.queries:
            yield Asked(board.uid, tile.title, board.scope.fill(query.text), query.unit, *expectation(query), tile.is_instant)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
