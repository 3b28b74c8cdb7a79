//! Decodes a demo with source2-demo and prints how long that took: for comparison with replayd.
//!
//!     go test -C .. -run WriteLong -long long.dem && cargo run --release -- ../long.dem 3

use source2_demo::prelude::*;
use std::time::Instant;

#[derive(Default)]
struct Counter {
    events: u64,
}

impl Observer for Counter {
    fn interests(&self) -> Interests {
        Interests::ENTITY_STATE | Interests::ENTITY_EVENTS | Interests::STRING_TABLE_STATE
    }

    fn on_entity(&mut self, _: &Context, _: EntityEvents, _: &Entity) -> ObserverResult {
        self.events += 1;
        Ok(())
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let replay = std::fs::read(args.next().expect("the demo's path")).expect("the demo");
    let runs: u32 = args.next().map_or(3, |n| n.parse().expect("how many runs"));
    for _ in 0..runs {
        let start = Instant::now();
        let mut parser = Parser::new(&replay).expect("a demo");
        let counter = parser.register_observer::<Counter>();
        parser.run_to_end().expect("a demo that can be read");
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{} events of entities, {:.3} s, {:.1} MB/s",
            counter.borrow().events,
            seconds,
            replay.len() as f64 / 1e6 / seconds
        );
    }
}
