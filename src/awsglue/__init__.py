"""AWS's module names over Penstock, so that programs written for them run unmodified; a façade without its own logic."""

from typing import TYPE_CHECKING, Any

from penstock.glue.library_modules import install

if TYPE_CHECKING:
    from awsglue.dynamicframe import DynamicFrame

__all__ = ["DynamicFrame"]

install()


def __getattr__(name: str) -> Any:
    # Spark is imported on first use, because awsglue.schema_registry does not need it.
    if name == "DynamicFrame":
        from awsglue.dynamicframe import DynamicFrame  # noqa: PLC0415

        return DynamicFrame
    raise AttributeError(f"module 'awsglue' has no attribute {name!r}")
