"""The schema registry's client and serdes, under the names that published examples import."""
