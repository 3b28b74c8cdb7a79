//! Decodes files with the Rust peers, and prints their processor time, time, and what they counted as JSON.
//!
//!     peers TASK RUNS FILE...
//!     peers check TASK FILE...     which of the files can be decoded, one a line

use std::time::Instant;

use source2_demo::prelude::*;
use teehistorian::{Chunk, Th};
use twmap::{Layer, TwMap};

type Counted = Result<usize, String>;

fn said<E: std::fmt::Debug>(err: E) -> String {
    format!("{err:?}")
}

/// Every chunk; a field of the moves is read, so that they have to be decoded.
fn teehistorian(_: &str, data: &[u8]) -> Counted {
    let mut file = Th::parse(data).map_err(said)?;
    let (mut chunks, mut sum) = (0, 0i64);
    loop {
        match file.next_chunk() {
            Ok(Chunk::Eos) => break,
            Ok(Chunk::PlayerDiff(move_)) => sum += i64::from(move_.dx),
            Ok(_) => {}
            Err(err) if err.is_eof() => break,
            Err(err) => return Err(said(err)),
        }
        chunks += 1;
    }
    std::hint::black_box(sum);
    Ok(chunks)
}

/// All tiles, images, sounds and quads, unpacked.
fn twmap(_: &str, data: &[u8]) -> Counted {
    let mut map = TwMap::parse_unchecked(data).map_err(said)?;
    map.load_unchecked().map_err(said)?;
    let layers = map.groups.iter().flat_map(|group| &group.layers);
    let counted: usize = layers.map(|layer| if let Layer::Quads(it) = layer { it.quads.len() } else { 1 }).sum();
    Ok(counted + map.images.len() + map.sounds.len())
}

fn s2protocol(path: &str, data: &[u8]) -> Counted {
    let (_, mpq) = s2protocol::parser::parse(data).map_err(said)?;
    s2protocol::read_details(path, &mpq, data).map_err(said)?;
    s2protocol::read_init_data(path, &mpq, data).map_err(said)?;
    Ok(s2protocol::read_game_events(path, &mpq, data).map_err(said)?.len()
        + s2protocol::read_message_events(path, &mpq, data).map_err(said)?.len()
        + s2protocol::read_tracker_events(path, &mpq, data).map_err(said)?.len())
}

#[derive(Default)]
struct Entities(usize);

impl Observer for Entities {
    fn interests(&self) -> Interests {
        Interests::ENTITY_STATE | Interests::ENTITY_EVENTS | Interests::STRING_TABLE_STATE
    }

    fn on_entity(&mut self, _: &Context, _: EntityEvents, _: &Entity) -> ObserverResult {
        self.0 += 1;
        Ok(())
    }
}

fn source2_demo(_: &str, data: &[u8]) -> Counted {
    let mut parser = Parser::new(data).map_err(said)?;
    let entities = parser.register_observer::<Entities>();
    parser.run_to_end().map_err(said)?;
    let counted = entities.borrow().0;
    Ok(counted)
}

/// The processor time of this process in seconds.
fn processor() -> f64 {
    let mut used = unsafe { std::mem::zeroed::<libc::rusage>() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut used) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(used.ru_utime) + seconds(used.ru_stime)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let check = args[1] == "check";
    let decode = match args[if check { 2 } else { 1 }].as_str() {
        "teehistorian" => teehistorian,
        "twmap" => twmap,
        "s2protocol" => s2protocol,
        "source2-demo" => source2_demo,
        task => panic!("no task {task}"),
    };
    let files: Vec<_> = args[3..].iter().map(|path| (path, std::fs::read(path).expect(path))).collect();
    if check {
        std::panic::set_hook(Box::new(|_| {}));
        for (path, data) in &files {
            if let Ok(Ok(_)) = std::panic::catch_unwind(|| decode(path, data)) {
                println!("{path}");
            }
        }
        return;
    }
    let runs: usize = args[2].parse().expect("how many runs");
    let (began, used, mut counted) = (Instant::now(), processor(), 0);
    for _ in 0..runs {
        for (path, data) in &files {
            counted += decode(path, data).expect(path);
        }
    }
    println!("{{\"cpu\":{},\"wall\":{},\"n\":{counted}}}", processor() - used, began.elapsed().as_secs_f64());
}
