"""What Glue scripts read: a module and a row of the table for each type of connection and kind of table."""
