"""Lambda-style functions and their event source mapping: Kafka and Kinesis to handlers in child processes."""

from .document import Declaration as Declaration
from .document import parse_function as parse_function
from .document import read_function as read_function
from .environment import ExecutionEnvironment as ExecutionEnvironment
from .environment import Result as Result
from .model import (
    EventSource as EventSource,
)
from .model import (
    EventSourceMapping as EventSourceMapping,
)
from .model import (
    Function as Function,
)
from .model import (
    KafkaAccess as KafkaAccess,
)
from .model import (
    KafkaSource as KafkaSource,
)
from .model import (
    KinesisSource as KinesisSource,
)
from .model import (
    SchemaRegistry as SchemaRegistry,
)
from .runner import RunOptions as RunOptions
from .runner import run as run
