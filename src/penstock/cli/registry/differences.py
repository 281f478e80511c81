"""The differences that a comparison found, as the error that ends a command."""

from collections.abc import Sequence

from penstock.errors import DataProblem

__all__ = ["raise_differences"]

_SHOWN = 20


def raise_differences(differences: Sequence[object], where: str, *, remedy: str) -> None:
    """Raise :class:`DataProblem` with the first differences, if there are any; ``where`` names what was compared."""
    if differences:
        shown = "\n".join(f"- {difference}" for difference in differences[:_SHOWN])
        more = f"\n- and {len(differences) - _SHOWN} more" if len(differences) > _SHOWN else ""
        raise DataProblem(f"{len(differences)} differences {where}:\n{shown}{more}\n", remedy=remedy)
