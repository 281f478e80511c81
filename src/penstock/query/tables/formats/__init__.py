"""The formats of a table's files, one module each, behind one port."""
