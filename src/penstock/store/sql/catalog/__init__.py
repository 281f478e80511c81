"""The catalog, its connections and crawlers in SQL."""
