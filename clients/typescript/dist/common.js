// The exports that both entry points share.
export { Code } from "@connectrpc/connect";
export {} from "../gen/replayd/v1/filter_pb.js";
export { Format, ReplayOrder, ReplayState, ReplayView } from "../gen/replayd/v1/replay_pb.js";
export {} from "../gen/replayd/v1/state_pb.js";
export { EndReason, FollowState, SlowConsumer } from "../gen/replayd/v1/stream_pb.js";
export { Client } from "./client.js";
export { Entity, EntityState, noEntity } from "./entities.js";
export { ReplaydError, SequenceError } from "./error.js";
export { Batch, Event } from "./event.js";
export {} from "./session.js";
export { players, States } from "./states.js";
export { Stream } from "./stream.js";
export { Subscribed } from "./subscription.js";
export { Table } from "./table.js";
