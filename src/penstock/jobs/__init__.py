"""Jobs as Glue has them: definitions, runs, triggers, workflows, bookmarks, security configurations, sessions."""
