"""The plan of every rule type."""

from penstock.glue.quality import columns, references
from penstock.glue.quality.measuring import Context, Plan, check_where
from penstock.glue.quality.rulesets import Rule

__all__ = ["TYPES", "plan"]

_PLANS = {**columns.PLANS, **references.PLANS}

TYPES = frozenset(_PLANS)
"""The rule types that have a plan."""


def plan(rule: Rule, context: Context) -> Plan:
    """Return the plan of a rule whose condition has plain numbers. Raises :class:`Unmeasurable`."""
    if rule.where is not None:
        check_where(rule.where, context)
    return _PLANS[rule.type](rule, context)
