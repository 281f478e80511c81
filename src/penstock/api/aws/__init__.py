"""AWS wire protocols: dispatch from botocore service models, one module of operations a noun."""
