//! Reports of what is live, with `MALLOW_MODE=live`: docs/api.md. Without that mode there are none.

use crate::agent::agent;
use std::any::Any;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::io::AsRawFd;
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

#[repr(C)]
pub struct RawReport<T> {
    count: usize,
    entries: *const *const T,
}
pub type RawThreadReport = RawReport<RawThread>;
pub type RawSiteReport = RawReport<RawSite>;

impl<T> RawReport<T> {
    unsafe fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.count).map(move |i| &**self.entries.add(i))
    }
}

#[repr(C)]
struct RawFreedBy {
    name: *const c_char,
    bytes: u64,
    calls: u64,
}

#[repr(C)]
pub struct RawThread {
    name: *const c_char,
    allocated: u64,
    calls: u64,
    freed: u64,
    freed_calls: u64,
    allocated_freed: u64,
    allocated_freed_calls: u64,
    in_use: u64,
    in_use_calls: u64,
    freed_by_others: *const RawFreedBy,
    freed_by_others_count: usize,
}

#[repr(C)]
pub struct RawSite {
    hash: u64,
    stack: *const u64,
    depth: usize,
    allocated: u64,
    calls: u64,
    freed: u64,
    freed_calls: u64,
    in_use: u64,
    in_use_calls: u64,
    average: u64,
}

/// What threads of another name have freed of a thread's blocks.
#[derive(Clone, Debug)]
pub struct FreedBy {
    pub name: String,
    pub bytes: u64,
    pub calls: u64,
}

/// All threads of one name, also those that have ended. Sizes are bytes.
#[derive(Clone, Debug)]
pub struct Thread {
    pub name: String,
    pub allocated: u64,
    pub calls: u64,
    /// That it freed, whoever allocated it.
    pub freed: u64,
    pub freed_calls: u64,
    /// That it allocated and any thread freed.
    pub allocated_freed: u64,
    pub allocated_freed_calls: u64,
    /// `allocated - allocated_freed`
    pub in_use: u64,
    pub in_use_calls: u64,
    pub freed_by_others: Vec<FreedBy>,
}

/// One call stack. Sizes are bytes.
#[derive(Clone, Debug)]
pub struct Site {
    /// The same in each run of the same files.
    pub hash: u64,
    /// Return addresses, innermost first.
    pub stack: Vec<u64>,
    pub allocated: u64,
    pub calls: u64,
    /// Of what it allocated.
    pub freed: u64,
    pub freed_calls: u64,
    /// `allocated - freed`
    pub in_use: u64,
    pub in_use_calls: u64,
    /// Of one allocation.
    pub average: u64,
}

/// A function at an address of a stack.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Demangled; empty: not known.
    pub function: String,
    /// `FILE:LINE`; empty: not known.
    pub place: String,
    pub module: String,
    /// Not your own code: an allocator, the C library, Rust's libraries.
    pub plumbing: bool,
}

/// The threads with most in use first.
#[derive(Clone, Debug)]
pub struct ThreadReport {
    pub threads: Vec<Thread>,
}

/// The call stacks with most in use first.
#[derive(Clone, Debug)]
pub struct SiteReport {
    pub sites: Vec<Site>,
    frames: HashMap<u64, Vec<Frame>>,
}

unsafe fn owned(text: *const c_char) -> String {
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

unsafe fn thread(raw: &RawThread) -> Thread {
    Thread {
        name: owned(raw.name),
        allocated: raw.allocated,
        calls: raw.calls,
        freed: raw.freed,
        freed_calls: raw.freed_calls,
        allocated_freed: raw.allocated_freed,
        allocated_freed_calls: raw.allocated_freed_calls,
        in_use: raw.in_use,
        in_use_calls: raw.in_use_calls,
        freed_by_others: (0..raw.freed_by_others_count)
            .map(|i| &*raw.freed_by_others.add(i))
            .map(|by| FreedBy {
                name: owned(by.name),
                bytes: by.bytes,
                calls: by.calls,
            })
            .collect(),
    }
}

unsafe fn site(raw: &RawSite) -> Site {
    Site {
        hash: raw.hash,
        stack: (0..raw.depth).map(|i| *raw.stack.add(i)).collect(),
        allocated: raw.allocated,
        calls: raw.calls,
        freed: raw.freed,
        freed_calls: raw.freed_calls,
        in_use: raw.in_use,
        in_use_calls: raw.in_use_calls,
        average: raw.average,
    }
}

/// A report of all threads. None: there is no table of live memory.
pub fn thread_report() -> Option<ThreadReport> {
    let (make, free) = (
        agent().thread_report.get()?,
        agent().thread_report_free.get()?,
    );

    unsafe {
        let raw = make().as_ref()?;
        let threads = raw.iter().map(|raw| thread(raw)).collect();
        free(raw as *const RawThreadReport as *mut RawThreadReport);
        Some(ThreadReport { threads })
    }
}

/// The call stacks for which `filter` returns true, without names. None: there is no table of live
/// memory.
pub fn sites<F: FnMut(&Site) -> bool>(filter: F) -> Option<Vec<Site>> {
    struct Filter<F> {
        filter: F,
        panic: Option<Box<dyn Any + Send>>,
    }
    // A panic must not pass through the agent's functions: it waits until they have returned.
    unsafe extern "C" fn run<F: FnMut(&Site) -> bool>(
        raw: *const RawSite,
        argument: *mut c_void,
    ) -> c_int {
        let argument = &mut *argument.cast::<Filter<F>>();
        if argument.panic.is_some() {
            return 0;
        }
        let filter = &mut argument.filter;
        catch_unwind(AssertUnwindSafe(|| filter(&site(&*raw)))).map_or_else(
            |panic| {
                argument.panic = Some(panic);
                0
            },
            c_int::from,
        )
    }
    let (make, free) = (agent().site_report.get()?, agent().site_report_free.get()?);
    let mut filter = Filter {
        filter,
        panic: None,
    };

    unsafe {
        let raw = make(run::<F>, (&mut filter as *mut Filter<F>).cast()).as_ref();
        let sites = raw.map(|raw| raw.iter().map(|raw| site(raw)).collect());
        if let Some(raw) = raw {
            free(raw as *const RawSiteReport as *mut RawSiteReport);
        }
        if let Some(panic) = filter.panic {
            resume_unwind(panic);
        }
        sites
    }
}

/// The same with the names of functions, their files and lines. The tool looks them up, in a process
/// of its own: see [`export`]. Where it cannot, the report has addresses.
pub fn site_report<F: FnMut(&Site) -> bool>(filter: F) -> Option<SiteReport> {
    let sites = sites(filter)?;
    let lines = export("frames").unwrap_or_default();
    let mut frames: HashMap<u64, Vec<Frame>> = HashMap::new();

    for line in String::from_utf8_lossy(&lines).lines() {
        if let [address, function, place, module, kind] = line.split('\t').collect::<Vec<_>>()[..] {
            let address = u64::from_str_radix(address.trim_start_matches("0x"), 16);
            frames.entry(address.unwrap_or(0)).or_default().push(Frame {
                function: function.to_owned(),
                place: place.to_owned(),
                module: module.to_owned(),
                plumbing: kind == "plumbing",
            });
        }
    }
    Some(SiteReport { sites, frames })
}

/// The table of live memory in a format of `mallow export`: "pprof", "html", "flamegraph",
/// "collapsed", "frames". The tool writes it (`MALLOW_HELPER`, or the installed one).
pub fn export(format: &str) -> io::Result<Vec<u8>> {
    let failed = || {
        io::Error::new(
            io::ErrorKind::Other,
            "mallow has no table of live memory, or no tool",
        )
    };
    let export = agent().export.get().ok_or_else(failed)?;
    let format = CString::new(format)?;
    let (reader, writer) = UnixStream::pair()?;
    let mut bytes = Vec::new();

    std::thread::scope(|scope| {
        // The call returns when all is written, so somebody else reads.
        let reading = scope.spawn(|| {
            let mut reader = reader; // closed if reading fails: then the tool's writes fail, too
            reader.read_to_end(&mut bytes)
        });
        let result = unsafe { export(format.as_ptr(), writer.as_raw_fd()) };
        // A child of another thread's fork may have a copy: closing would not be the end.
        writer.shutdown(Shutdown::Write)?;
        reading.join().map_err(|_| failed())??;
        if result == 0 {
            Ok(())
        } else {
            Err(failed())
        }
    })?;
    Ok(bytes)
}

impl SiteReport {
    /// The functions at an address of a stack, the innermost inlined one first. Empty: not known.
    pub fn frames(&self, address: u64) -> &[Frame] {
        self.frames.get(&address).map_or(&[], Vec::as_slice)
    }

    /// The frames of the program's own code; all of them if it has none, or if they have no names.
    fn write_stack(&self, stack: &[u64], f: &mut fmt::Formatter) -> fmt::Result {
        let all = || stack.iter().flat_map(|&address| self.frames(address));
        let any_own = all().any(|frame| !frame.plumbing && !frame.function.is_empty());

        for &address in stack {
            let frames = self.frames(address);
            for frame in frames.iter().filter(|frame| !frame.function.is_empty()) {
                if !any_own || !frame.plumbing {
                    writeln!(f, "  {}  {}", frame.function, frame.place)?;
                }
            }
            if frames
                .iter()
                .all(|frame| frame.function.is_empty() && !(any_own && frame.plumbing))
            {
                writeln!(f, "  {address:#x}")?;
            }
        }
        Ok(())
    }
}

/// "2.45 MB": three digits, units of 1000.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut units = " KMGTPE".chars();
        let mut unit = units.next();

        if self.0 < 1000 {
            return write!(f, "{} B", self.0);
        }
        while value >= 999.5 {
            value /= 1000.0;
            unit = units.next();
        }
        let digits = if value < 9.995 {
            2
        } else if value < 99.95 {
            1
        } else {
            0
        };
        write!(f, "{value:.digits$} {}B", unit.unwrap_or(' '))
    }
}

impl fmt::Display for ThreadReport {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for thread in &self.threads {
            writeln!(f, "{}:", thread.name)?;
            writeln!(f, "  total_alloc: {}", Size(thread.allocated))?;
            writeln!(f, "  total_did_free: {}", Size(thread.freed))?;
            writeln!(f, "  total_freed: {}", Size(thread.allocated_freed))?;
            writeln!(f, "  current_used: {}", Size(thread.in_use))?;
            for by in &thread.freed_by_others {
                writeln!(f, "  freed by {}: {}", by.name, Size(by.bytes))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for SiteReport {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for site in &self.sites {
            writeln!(f, "allocated: {}", Size(site.allocated))?;
            writeln!(f, "allocations: {}", site.calls)?;
            writeln!(f, "avg_allocation: {}", Size(site.average))?;
            writeln!(f, "freed: {}", Size(site.freed))?;
            writeln!(f, "total_used: {}", Size(site.in_use))?;
            writeln!(f, "backtrace: {:#018x}", site.hash)?;
            self.write_stack(&site.stack, f)?;
            writeln!(f)?;
        }
        Ok(())
    }
}
