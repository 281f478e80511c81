"""Parse, canonicalise, infer, compare and explain schemas; pure functions, no network."""

from .compatibility import (
    CompatibilityMode as CompatibilityMode,
)
from .compatibility import (
    CompatibilityVerdict as CompatibilityVerdict,
)
from .compatibility import (
    Conflict as Conflict,
)
from .compatibility import (
    check as check,
)
from .diff.compare import compare as compare
from .diff.model import SchemaDiff as SchemaDiff
from .errors import (
    FormatNotServed as FormatNotServed,
)
from .errors import (
    InvalidSchema as InvalidSchema,
)
from .errors import (
    NotSelfContained as NotSelfContained,
)
from .errors import (
    TooComplex as TooComplex,
)
from .format import (
    Field as Field,
)
from .format import (
    ParsedSchema as ParsedSchema,
)
from .format import (
    ReferencedText as ReferencedText,
)
from .format import (
    SchemaFormat as SchemaFormat,
)
from .formats import FORMATS as FORMATS
from .formats import format_of as format_of
from .incompatibility import Incompatibility as Incompatibility
from .infer.avro import derive_avro as derive_avro
from .infer.avro import extend_avro as extend_avro
from .infer.errors import CannotDerive as CannotDerive
from .infer.rules import InferenceRules as InferenceRules
from .infer.shape import Shape as Shape
from .infer.shape import shape_of as shape_of
from .rules import CONFLUENT_RULES as CONFLUENT_RULES
from .rules import GLUE_RULES as GLUE_RULES
from .rules import CompatibilityRules as CompatibilityRules
from .version import SchemaText as SchemaText
from .version import SchemaVersion as SchemaVersion
