"""Trino's geospatial functions: the types Geometry and SphericalGeography as WKB, computed by GEOS a column at a time."""
