"""Records from files or generated, sent to a topic with a registered schema, and every acknowledgement counted."""

from .producer import Producer as Producer
from .producer import Report as Report
from .records import FileFormat as FileFormat
from .records import RecordFile as RecordFile
from .records import UnusableRecord as UnusableRecord
from .run import send_all as send_all
from .trial import Breakage as Breakage
from .trial import Trial as Trial
from .trial import try_records as try_records
