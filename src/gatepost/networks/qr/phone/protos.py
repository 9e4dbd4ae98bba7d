"""Short names for the library's protobuf modules. They have no type hints, so type checkers treat them as Any."""

from neonize.proto import Neonize_pb2 as neo  # type: ignore[import-untyped]
from neonize.proto.waCommon import WACommon_pb2 as common  # type: ignore[import-untyped]
from neonize.proto.waCompanionReg import WAWebProtobufsCompanionReg_pb2 as companion  # type: ignore[import-untyped]
from neonize.proto.waE2E import WAWebProtobufsE2E_pb2 as e2e  # type: ignore[import-untyped]
from neonize.proto.waHistorySync import WAWebProtobufsHistorySync_pb2 as history  # type: ignore[import-untyped]

__all__ = ["common", "companion", "e2e", "history", "neo"]
