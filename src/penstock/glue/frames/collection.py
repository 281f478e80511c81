"""DynamicFrameCollection: frames by their names.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-dynamic-frame-collection.html
"""

from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.glue.frames.dynamic_frame import DynamicFrame

__all__ = ["DynamicFrameCollection"]


class DynamicFrameCollection:
    """``dynamic_frames`` are frames by name, or a list of frames that have names."""

    def __init__(self, dynamic_frames: "Mapping[str, DynamicFrame] | Sequence[DynamicFrame]", glue_ctx: Any) -> None:
        self._glue_ctx = glue_ctx
        if isinstance(dynamic_frames, Mapping):
            self._frames = dict(dynamic_frames)
        elif isinstance(dynamic_frames, list | tuple):
            self._frames = {frame.name: frame for frame in dynamic_frames}
        else:
            raise TypeError("dynamic_frames must be list or dict.")

    def __getitem__(self, key: str) -> "DynamicFrame":
        return self._frames[key]

    def __len__(self) -> int:
        return len(self._frames)

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._frames.keys()

    def values(self) -> "ValuesView[DynamicFrame]":
        """Return the frames."""
        return self._frames.values()

    def select(self, key: str, transformation_ctx: str = "") -> "DynamicFrame":  # noqa: ARG002
        """Return the frame of this name, an empty one if there is none."""
        if key in self._frames:
            return self._frames[key]
        from penstock.glue.frames.dynamic_frame import DynamicFrame  # noqa: PLC0415 - it imports this module

        return DynamicFrame(self._glue_ctx.spark_session.createDataFrame([], ""), self._glue_ctx, key)

    def map(self, callable: "Callable[[DynamicFrame, str], Any]", transformation_ctx: str = "") -> "DynamicFrameCollection":
        """Return ``callable(frame, context)`` of each frame under its name. Raises TypeError for other results."""
        made: dict[str, DynamicFrame] = {}
        for name, frame in self._frames.items():
            result = callable(frame, f"{transformation_ctx}:{name}")
            if not hasattr(result, "toDF"):
                raise TypeError(f"The function must return a DynamicFrame, and returned a {type(result).__name__}.")
            made[name] = result
        return DynamicFrameCollection(made, self._glue_ctx)

    def flatmap(self, f: "Callable[[DynamicFrame, str], Any]", transformation_ctx: str = "") -> "DynamicFrameCollection":
        """Return all frames that ``f(frame, context)`` returns, which is a frame or a collection, under their names.

        Raises TypeError for other results.
        """
        made: dict[str, DynamicFrame] = {}
        for frame in self._frames.values():
            result = f(frame, f"{transformation_ctx}:{frame.name}")
            if isinstance(result, DynamicFrameCollection):
                made.update(result._frames)
            elif hasattr(result, "toDF"):
                made[result.name] = result
            else:
                raise TypeError(f"The function must return a frame or a collection, and returned a {type(result).__name__}.")
        return DynamicFrameCollection(made, self._glue_ctx)
