"""Jobs: a piece of work on its way from the thread that wants it done to the one that does it, and back.

Who decides about a job, the writer by beginning it or the caller by taking it back, is settled by one atomic step that can be asked again; so
Ctrl-C may arrive anywhere in the caller and never leaves a job that both or neither believe in. Comes before `batch` and `writer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

from guard.errors import AnsweredInterrupt, StoreError

T = TypeVar("T")
Many: TypeAlias = "Callable[[Any, Sequence[Any]], Sequence[Any]]"
_BEGUN, _TAKEN_BACK = "begun", "taken back"


class Job(Generic[T]):
    """One work. `answer` or `error` count once it has `ended`.

    `many` does several works that were given with it at once: it gives the answers of as many of them, the first ones, as it could do.
    """

    __slots__ = ("_fate", "_told", "answer", "ended", "error", "many", "work")

    def __init__(self, work: Callable[[Any], T], many: Many | None = None) -> None:
        self.work = work
        self.many = many
        self.answer: Any = None
        self.error: BaseException | None = None
        self.ended = False
        self._fate: dict[int, str] = {}
        self._told = Lock()
        self._told.acquire()

    # the writer's side

    def begin(self) -> bool:
        """Whether the writer may do it; from then on the caller cannot take it back."""
        return self._fate.setdefault(0, _BEGUN) is _BEGUN

    def end(self, error: BaseException | None = None) -> None:
        """Wake the caller: with `answer`, or with what went wrong. Only the first one counts."""
        if not self.ended:
            self.error = error
            self.ended = True
            self._told.release()

    # the caller's side

    def take_back(self) -> bool:
        """Whether the caller may forget it, since it was not begun. Asked again, it says the same."""
        return self._fate.setdefault(0, _TAKEN_BACK) is _TAKEN_BACK

    def wait(self) -> None:
        """Until it has ended. May be called again after an interrupt, wherever that came."""
        while not self.ended:
            self._told.acquire()

    def failure(self) -> BaseException:
        """What the work raised, once: kept, the error and its traceback would keep each other alive."""
        error, self.error = self.error, None
        return error or StoreError("the store failed")

    def interrupted(self, error: BaseException) -> NoReturn:
        """What becomes of a job whose caller was interrupted by `error`.

        Taken back when it was not begun: then `error` goes on up and nothing was done. Else its end is awaited, whatever else comes, and
        a KeyboardInterrupt carries it as an AnsweredInterrupt.
        """
        try:
            error = self._outlast(error)
        except BaseException as more:  # noqa: BLE001 - it came between two steps of the waiting: once more
            error = self._outlast(_graver(error, more))
        if self.ended and isinstance(error, KeyboardInterrupt):
            raise AnsweredInterrupt(answer=self.answer, error=self.error) from error
        raise error

    def _outlast(self, error: BaseException) -> BaseException:
        while True:
            try:
                if not self.take_back():
                    self.wait()
                return error
            except BaseException as more:  # noqa: BLE001 - a second Ctrl-C changes nothing about the job
                error = _graver(error, more)


def _graver(first: BaseException, second: BaseException) -> BaseException:
    """Of two interruptions the one to go on with: a second Ctrl-C says nothing new, an exit does."""
    return first if isinstance(second, KeyboardInterrupt) else second
