"""What somebody gave is not what it should be: a request, a file, a value, a name."""

from __future__ import annotations

from collections.abc import Sequence

from inferflow.errors.root import Fault, InferflowError


class InvalidRequest(InferflowError):
    """A request that cannot be scored. `field` is the place in it."""

    fault = Fault.CALLER

    def __init__(self, field: str, what: str, hint: str = "") -> None:
        super().__init__(f"{field}: {what}" + (f" ({hint})" if hint else ""))
        self.field = field
        self.what = what
        self.hint = hint


class BodyTooLarge(InvalidRequest):
    """A request of more bytes than are allowed."""


class BodyTooSlow(InvalidRequest):
    """A request whose rest did not come in time."""


class InvalidInput(InferflowError):
    """A file, an argument or a value that is not what it should be."""

    fault = Fault.CALLER


class CastFailed(InvalidInput):
    """A value that has no form in the type asked for. `position` is its row."""

    def __init__(self, what: str, *, position: int | None = None) -> None:
        super().__init__(what if position is None else f"{what} (at position {position})")
        self.what = what
        self.position = position


class SchemaInvalid(InvalidInput):
    """A feature schema that says something impossible. Carries every problem found."""

    def __init__(self, where: str, problems: Sequence[str]) -> None:
        super().__init__(f"{where}: " + "; ".join(problems))
        self.where = where
        self.problems = tuple(problems)


class RowRejected(InvalidInput):
    """One row of an import that does not fit the schema. Nothing of the import was applied."""

    def __init__(self, source: str, row: int, what: str) -> None:
        super().__init__(f"{source}, row {row}: {what}")
        self.source = source
        self.row = row
        self.what = what


class ExpressionInvalid(InvalidInput):
    """An expression that does not parse or check. `position` is the character it stopped at."""

    def __init__(self, what: str, *, position: int | None = None, hint: str = "") -> None:
        super().__init__(what + (f" ({hint})" if hint else ""))
        self.what = what
        self.position = position
        self.hint = hint


class NotFound(InferflowError):
    """The named thing is not here. `nearest` is what may have been meant."""

    fault = Fault.ABSENT

    def __init__(self, kind: str, name: str, *, nearest: str = "") -> None:
        super().__init__(
            f"no {kind} {name!r}" + (f"; did you mean {nearest!r}?" if nearest else "")
        )
        self.kind = kind
        self.name = name
        self.nearest = nearest


class MissingExtra(InferflowError):
    """An optional dependency is not installed; says which command installs it."""

    fault = Fault.CALLER

    def __init__(self, extra: str, *, for_what: str) -> None:
        super().__init__(f"{for_what} needs: pip install 'inferflow[{extra}]'")
        self.extra = extra
