//! What a Rust program can tell mallow, a heap profiler for Linux, and ask it about itself.
//!
//! ```
//! use mallow::Mallow;
//! use std::alloc::System;
//!
//! #[global_allocator]
//! static ALLOCATOR: Mallow<System> = Mallow::new(System); // or any other allocator
//!
//! fn main() {
//!     mallow::mark("loaded");
//!     if let Some(report) = mallow::thread_report() {
//!         println!("{report}");
//!     }
//!     if let Some(report) = mallow::site_report(|site| site.in_use > 1_000_000) {
//!         println!("{report}");
//!     }
//! }
//! ```
//!
//! Without mallow all of this does nothing, at the cost of a comparison for each allocation. With it
//! (`mallow run ./program`, `mallow live ./program`, or linked) the program is recorded, and the
//! reports are there while `mallow live` looks at it.

mod agent;
mod mallow_allocator;
mod report;

pub use mallow_allocator::Mallow;
pub use report::{export, site_report, sites, thread_report};
pub use report::{Frame, FreedBy, Site, SiteReport, Thread, ThreadReport};

use agent::agent;
use std::os::raw::c_char;

/// Gives this moment a name in the recording: "loaded", "request 17". At most 1,000 bytes of it, up
/// to its first NUL.
pub fn mark(name: &str) {
    let mut text = [0; 1001]; // nothing is allocated: that would be recorded
    let size = name.len().min(text.len() - 1);

    text[..size].copy_from_slice(&name.as_bytes()[..size]);
    if let Some(mark) = agent().mark.get() {
        unsafe { mark(text.as_ptr().cast::<c_char>()) }
    }
}

/// Starts recording for all threads, if it was stopped, or if the agent is linked and waits.
pub fn start() {
    if let Some(start) = agent().start.get() {
        unsafe { start() }
    }
}

/// Stops recording for all threads. Ends of blocks that were recorded are still recorded.
pub fn stop() {
    if let Some(stop) = agent().stop.get() {
        unsafe { stop() }
    }
}

/// Whether allocations are being recorded.
pub fn is_running() -> bool {
    agent()
        .is_running
        .get()
        .map_or(false, |is_running| unsafe { is_running() } != 0)
}

/// When this returns true, all that any thread recorded before is in the file.
pub fn sync() -> bool {
    agent()
        .sync
        .get()
        .map_or(false, |sync| unsafe { sync() } == 0)
}

/// From now on this thread's allocations carry the number: a request, a tenant, a phase. 0: none.
pub fn set_tag(tag: u32) {
    if let Some(set_tag) = agent().set_tag.get() {
        unsafe { set_tag(tag) }
    }
}
