//! Prints the events of a replay, one per line: sequence number, tick, kind and content.
//!
//!     cargo run -- localhost:7171 samples/teehistorian/finished/....teehistorian [KIND...]
//!
//! It uses only the .proto files of replayd. When the connection breaks, it resumes after the last response that it has
//! processed, with that response's cursor.

mod proto {
    include!(concat!(env!("OUT_DIR"), "/proto.rs"));
}

use std::io::Write as _;
use std::time::Duration;

use proto::replayd::v1::{
    event_batch::Events, replay_service_client::ReplayServiceClient, start::At,
    stream_events_response::Response, EventBatch, EventFilter, Start, StreamEventsRequest,
};
use tonic::{Code, Status};

type Error = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let (Some(address), Some(replay)) = (args.next(), args.next()) else {
        return Err("usage: replayd-events ADDRESS REPLAY [KIND...]".into());
    };
    let mut request = StreamEventsRequest { replay, ..Default::default() };
    let kinds: Vec<String> = args.collect();
    if !kinds.is_empty() {
        request.include.push(EventFilter { kinds, ..Default::default() });
    }
    let mut tries = 0;
    loop {
        match stream(&address, &mut request).await {
            Ok(()) => return Ok(()),
            // A broken stream that has begun can be resumed. Other errors are permanent.
            Err(status) if status.code() == Code::Unavailable && request.start.is_some() && tries < 100 => {
                tries += 1;
                eprintln!("{}: trying again", status.message());
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            Err(status) => return Err(format!("{:?}: {}", status.code(), status.message()).into()),
        }
    }
}

/// Streams until the end. It updates the request so that the next call resumes where this one stopped.
async fn stream(address: &str, request: &mut StreamEventsRequest) -> Result<(), Status> {
    let client = ReplayServiceClient::connect(format!("http://{address}")).await;
    let mut client = client.map_err(|error| Status::unavailable(error.to_string()))?;
    let mut responses = client.stream_events(request.clone()).await?.into_inner();
    while let Some(message) = responses.message().await? {
        match message.response {
            Some(Response::Batch(batch)) => print(&batch),
            Some(Response::End(end)) => {
                eprintln!("{}: {} events", end.reason().as_str_name(), end.events_sent);
                return Ok(());
            }
            Some(Response::Start(start)) => {
                eprintln!("streaming {}", start.replay.unwrap_or_default().name);
            }
            _ => {} // a heartbeat, a follow status, or a response of a later version
        }
        if !message.cursor.is_empty() {
            request.start = Some(Start { at: Some(At::Cursor(message.cursor)), ..Default::default() });
        }
    }
    Err(Status::unavailable("the stream stopped without an end"))
}

/// Prints the events of a batch. Each format has its own event message, and each has at_tick and kind.
fn print(batch: &EventBatch) {
    macro_rules! each {
        ($list:expr) => {{
            let mut out = std::io::stdout().lock();
            for (sequence, event) in (batch.first_sequence..).zip(&$list.events) {
                match &event.kind {
                    Some(kind) => writeln!(out, "{sequence} {} {kind:?}", event.at_tick),
                    None => writeln!(out, "{sequence} {} of a kind that is newer than this program", event.at_tick),
                }
                .expect("stdout is open");
            }
        }};
    }
    match &batch.events {
        Some(Events::Teehistorian(list)) => each!(list),
        Some(Events::Datafile(list)) => each!(list),
        Some(Events::Dem(list)) => each!(list),
        Some(Events::Sc2replay(list)) => each!(list),
        None => eprintln!("events of a format that is newer than this program"),
    }
}
