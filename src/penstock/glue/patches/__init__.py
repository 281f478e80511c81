"""What is changed of pyspark's own classes in the process of a script; :mod:`.table` lists all of it with the reasons."""
