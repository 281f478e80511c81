"""Python functions of users over DataFrames: ``module:function`` from a file beside the pipeline's YAML."""

import importlib.util
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from penstock.errors import InvalidInput
from penstock.pipelines.transforms import PythonStep

__all__ = ["load_function"]


def load_function(step: PythonStep) -> Callable[[DataFrame, Any], DataFrame]:
    """Return the step's function. Raises :class:`InvalidInput` if file or function are missing or of another shape.

    The module's own functions are sent to executors by value, so that they need no copy of the file.
    """
    name, _, attribute = step.function.partition(":")
    function = getattr(_module(step, name), attribute, None)
    if not callable(function):
        raise InvalidInput(f"Step {step.name}: module {name} has no function '{attribute}'.")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise InvalidInput(
            f"Step {step.name}: {step.function} must take two arguments, a DataFrame and the context.",
            remedy=f"Write it as: def {attribute}(rows, context): ... return rows",
        ) from None
    return function  # type: ignore[no-any-return]


def _module(step: PythonStep, name: str) -> ModuleType:
    path = step.folder.joinpath(*name.split(".")).with_suffix(".py")
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise InvalidInput(
            f"Step {step.name}: there is no file {path}.",
            remedy=f"Put the module of '{step.function}' beside the pipeline's YAML.",
        )
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(step.folder))  # for modules that it imports
    try:
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InvalidInput(f"Step {step.name}: {path} cannot be imported: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.remove(str(step.folder))
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return module
