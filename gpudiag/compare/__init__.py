"""④ Two runs side by side: whether a change helped, and how that is known (docs/compare.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudiag.compare.model import Comparison, Side


def compare(before: Side, after: Side, *, same_work: bool = False) -> Comparison:
    """`after` against `before`. `same_work`: both did the same work, so that run times count."""
    from gpudiag.compare.changes import changes, parts
    from gpudiag.compare.measure import Measured
    from gpudiag.compare.quantities import quantities
    from gpudiag.compare.verdict import judge

    first, second = Measured.of(before.timeline), Measured.of(after.timeline)
    return judge(
        before,
        after,
        first,
        second,
        same_work=same_work,
        parts=parts(before.diagnosis.ledger, after.diagnosis.ledger),
        changes=changes(before.diagnosis, after.diagnosis),
        quantities=quantities(first, second),
    )


__all__ = ["compare"]
