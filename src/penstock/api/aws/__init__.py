"""AWS wire protocols: dispatch from botocore service models, with one module of operations for each noun."""
