"""What tests of hostile Protobuf definitions share."""

__all__ = ["ENDED_THE_COMPILER", "OPTION"]

OPTION = (
    'import "google/protobuf/descriptor.proto"; message M { optional M m = 1; } '
    "extend google.protobuf.MessageOptions { optional M opt = 50000; } "
)


# Each of them ended the compiler's process, or took it 20 seconds and five gigabytes, before there were bounds.
ENDED_THE_COMPILER = [
    OPTION + "message X { option (opt) = {" + "m{" * 50_000 + "}" * 50_000 + "}; }",
    OPTION + "message X { option (opt) = {" + "m<" * 50_000 + ">" * 50_000 + "}; }",
    OPTION + "message X { option (opt)" + ".m" * 80_000 + " = {}; }",
    "message X {" + "optional group G = 1 {" * 7_000 + "}" * 7_000 + "}",
]
