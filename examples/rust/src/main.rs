//! Prints the events of a replay, one a line: its number, its tick, what happened.
//!
//!     cargo run -- localhost:7171 samples/teehistorian/finished/....teehistorian [KIND...]
//!
//! All that it knows of replayd comes from the .proto files. When the connection breaks it goes on behind the last
//! response that it has dealt with, by that response's cursor.

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
            // What begun breaks may be taken up again; what is refused stays refused.
            Err(status) if status.code() == Code::Unavailable && request.start.is_some() && tries < 100 => {
                tries += 1;
                eprintln!("{}: trying again", status.message());
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            Err(status) => return Err(format!("{:?}: {}", status.code(), status.message()).into()),
        }
    }
}

/// Streams until the end. The request is changed so that it goes on where this call stopped.
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
            _ => {} // a heartbeat, what becomes of a live replay, what a later version has to say
        }
        if !message.cursor.is_empty() {
            request.start = Some(Start { at: Some(At::Cursor(message.cursor)), ..Default::default() });
        }
    }
    Err(Status::unavailable("the stream stopped without an end"))
}

/// Prints the events of a batch. Each format has messages of its own; all have at_tick and kind.
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
