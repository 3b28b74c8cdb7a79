"""The methods of the service."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message

from . import _lazy
from .v1 import broadcast_pb2, info_pb2, replay_pb2, report_pb2, state_pb2, stream_pb2, subscribe_pb2, watch_pb2


class Stubs:
    """The service's methods on a channel of grpc or of grpc.aio."""

    def __init__(self, channel: Any) -> None:
        def method(how: str, name: str, request: type[Message], response: type[Message]) -> Any:
            return getattr(channel, how)(
                "/replayd.v1.ReplayService/" + name,
                request_serializer=request.SerializeToString,
                response_deserializer=response.FromString,
            )

        self.stream_events = method(
            "unary_stream", "StreamEvents", stream_pb2.StreamEventsRequest, _lazy.Response
        )
        self.watch_state = method("unary_stream", "WatchState", state_pb2.WatchStateRequest, state_pb2.WatchStateResponse)
        self.subscribe_events = method(
            "unary_stream", "SubscribeEvents", subscribe_pb2.SubscribeEventsRequest, subscribe_pb2.SubscribeEventsResponse
        )
        self.acknowledge_events = method(
            "unary_unary", "AcknowledgeEvents", subscribe_pb2.AcknowledgeEventsRequest, subscribe_pb2.AcknowledgeEventsResponse
        )
        self.delete_subscription = method(
            "unary_unary", "DeleteSubscription", subscribe_pb2.DeleteSubscriptionRequest, subscribe_pb2.DeleteSubscriptionResponse
        )
        self.decode_replay = method(
            "stream_stream", "DecodeReplay", stream_pb2.DecodeReplayRequest, _lazy.Response
        )
        self.watch_replays = method(
            "unary_stream", "WatchReplays", watch_pb2.WatchReplaysRequest, watch_pb2.WatchReplaysResponse
        )
        self.list_replays = method(
            "unary_unary", "ListReplays", replay_pb2.ListReplaysRequest, replay_pb2.ListReplaysResponse
        )
        self.get_replay = method("unary_unary", "GetReplay", replay_pb2.GetReplayRequest, replay_pb2.GetReplayResponse)
        self.follow_broadcast = method(
            "unary_unary", "FollowBroadcast", broadcast_pb2.FollowBroadcastRequest, broadcast_pb2.FollowBroadcastResponse
        )
        self.get_report = method("unary_unary", "GetReport", report_pb2.GetReportRequest, report_pb2.GetReportResponse)
        self.get_server_info = method(
            "unary_unary", "GetServerInfo", info_pb2.GetServerInfoRequest, info_pb2.GetServerInfoResponse
        )
