"""The types of the lake's columns as values, and an adapter for each system that has types of its own.

``model`` has the values, ``widening`` which type holds the values of two. Every other module is an adapter: it maps the
lake's types to those of one system, in both directions where data goes both ways.
"""
