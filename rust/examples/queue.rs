//! A queue between threads that reports on itself:
//!
//!     mallow live cargo run --release --example queue

use mallow::Mallow;
use std::alloc::System;
use std::sync::mpsc;
use std::thread;

#[global_allocator]
static ALLOCATOR: Mallow<System> = Mallow::new(System);

fn produce(requests: &mpsc::Sender<Vec<u8>>) {
    for size in 1..=1000 {
        requests.send(vec![0; size]).unwrap();
    }
}

/// Keeps one of ten.
fn consume(requests: &mpsc::Receiver<Vec<u8>>) -> Vec<Vec<u8>> {
    requests
        .iter()
        .enumerate()
        .filter(|(i, _)| i % 10 == 0)
        .map(|(_, request)| request)
        .collect()
}

fn start<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .unwrap()
}

fn main() {
    let (sender, receiver) = mpsc::channel();
    let producer = start("producer", move || produce(&sender));
    let consumer = start("consumer", move || consume(&receiver));

    producer.join().unwrap();
    let kept = consumer.join().unwrap();
    mallow::mark("consumed");
    match mallow::thread_report() {
        Some(report) => print!("{report}"),
        None => println!(
            "{} requests are kept; 'mallow live' shows where they come from",
            kept.len()
        ),
    }
    if let Some(report) = mallow::site_report(|site| site.in_use > 10_000) {
        print!("{report}");
    }
}
