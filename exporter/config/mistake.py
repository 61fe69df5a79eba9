"""A mistake in the configuration: which option, what is wrong with it, where it was written. Knows no option and no file format."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mistake:
    """One complaint. `path` is the option (`web.listen_addresses`) or the file; `where` a `file:line`, variable or flag, may be empty."""

    path: str
    problem: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.problem} ({self.where})" if self.where else f"{self.path}: {self.problem}"


class ConfigError(Exception):
    """The configuration cannot be used. `str()` is one line a mistake; `mistakes` holds them all, the first built from the arguments."""

    def __init__(self, path: str, problem: str, where: str = "", more: tuple[Mistake, ...] = ()) -> None:
        super().__init__(path, problem, where, more)
        self.mistakes = (Mistake(path, problem, where), *more)

    def __str__(self) -> str:
        return "\n".join(str(mistake) for mistake in self.mistakes)


def error_of(mistakes: tuple[Mistake, ...]) -> ConfigError:
    """One ConfigError for at least one mistake."""
    first, *more = mistakes
    return ConfigError(first.path, first.problem, first.where, tuple(more))
