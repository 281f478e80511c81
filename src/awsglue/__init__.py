"""AWS's module names over Penstock, so that programs written for them run unmodified; a façade without logic of its own."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from awsglue.dynamicframe import DynamicFrame

__all__ = ["DynamicFrame"]


def __getattr__(name: str) -> Any:
    # Spark is imported when somebody asks for it: awsglue.schema_registry does without.
    if name == "DynamicFrame":
        from awsglue.dynamicframe import DynamicFrame  # noqa: PLC0415

        return DynamicFrame
    raise AttributeError(f"module 'awsglue' has no attribute {name!r}")
