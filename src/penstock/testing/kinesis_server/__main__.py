"""``python -m penstock.testing.kinesis_server PORT``."""

import sys

from penstock.testing.kinesis_server.server import serve

if __name__ == "__main__":
    serve(int(sys.argv[1]))
