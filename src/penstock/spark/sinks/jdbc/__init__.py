"""Tables of PostgreSQL and Redshift as a sink: rows and the batch's marker in one transaction."""
