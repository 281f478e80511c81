"""Opens the audit log of a process, by its settings."""

from collections.abc import Callable

from penstock.access.audit.log import AuditFolder, AuditSink, NullAuditSink
from penstock.access.audit.segments import Retention
from penstock.settings.server import ServerSettings

__all__ = ["open_audit"]


def open_audit(settings: ServerSettings) -> tuple[AuditSink, Callable[[], None]]:
    """Return the audit log of this process, and a function that closes it."""
    if settings.audit_folder is None:
        return NullAuditSink(), _close_none
    retention = Retention(keep_seconds=settings.audit_keep_days * 86_400.0, keep_bytes=settings.audit_keep_bytes)
    writer = AuditFolder(path=settings.audit_folder, records_reads=settings.audit_reads, retention=retention).open()
    return writer, writer.close


def _close_none() -> None:
    """Do nothing: there is no log to close."""
