// The exports that both entry points share.

export { Code } from "@connectrpc/connect";
export { type EventFilter } from "../gen/replayd/v1/filter_pb.js";
export type { Report } from "../gen/replayd/v1/report_pb.js";
export { Format, type Participant, type Replay, ReplayOrder, ReplayState, ReplayView } from "../gen/replayd/v1/replay_pb.js";
export { type WatchedReplay } from "../gen/replayd/v1/state_pb.js";
export { EndReason, FollowState, SlowConsumer, type StreamEventsResponse } from "../gen/replayd/v1/stream_pb.js";
export { Client } from "./client.js";
export { Entity, EntityState, type FieldData, noEntity } from "./entities.js";
export { ReplaydError, SequenceError } from "./error.js";
export { type AnyEvent, type AnyValue, Batch, Event, type Kind } from "./event.js";
export type { Filter, ListOptions, SearchFilter, StreamOptions, SubscribeOptions, WatchOptions, WatchStateOptions } from "./request.js";
export { type Retry } from "./session.js";
export { type PlayerEvent, players, States } from "./states.js";
export { Stream } from "./stream.js";
export { Subscribed } from "./subscription.js";
export { Table } from "./table.js";
