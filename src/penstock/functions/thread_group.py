"""Threads that each run one worker object until told to stop, and the first thing that went wrong with one of them."""

import threading
from typing import Generic, Protocol, TypeVar

__all__ = ["Crew", "Member"]


class Member(Protocol):
    """What a thread of a crew runs."""

    def run(self) -> None:
        """Work until told to stop; raises what cannot be mended."""
        ...

    def stop(self) -> None:
        """Ask :meth:`run` to return; from any thread."""
        ...


_Kind = TypeVar("_Kind", bound=Member)


class Crew(Generic[_Kind]):
    """Members at work, one thread each. For one thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._members: list[tuple[_Kind, threading.Thread]] = []
        self._leaving: list[threading.Thread] = []
        self._started = 0
        self._problems: list[BaseException] = []

    def __len__(self) -> int:
        """How many are at work."""
        return len(self._members)

    def start(self, member: _Kind) -> None:
        """Put a member to work."""
        self._started += 1
        thread = threading.Thread(target=self._run, args=(member,), name=f"{self._name}-{self._started}", daemon=True)
        self._members.append((member, thread))
        thread.start()

    def _run(self, member: _Kind) -> None:
        try:
            member.run()
        except BaseException as error:  # noqa: BLE001 -- raised where the crew is looked at
            self._problems.append(error)

    def end_one(self) -> None:
        """Ask the member that came last to end, and do not wait."""
        member, thread = self._members.pop()
        member.stop()
        self._leaving.append(thread)

    def check(self) -> None:
        """Raise the first problem; forget members that have ended."""
        if self._problems:
            raise self._problems[0]
        self._members = [each for each in self._members if each[1].is_alive()]

    def stop(self) -> None:
        """Ask all to end, and wait for them."""
        for member, _ in self._members:
            member.stop()
        for thread in [*self._leaving, *(thread for _, thread in self._members)]:
            thread.join()
        self._members, self._leaving = [], []
