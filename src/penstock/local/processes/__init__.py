"""Child processes of the platform: they are started, watched, restarted and stopped here."""
