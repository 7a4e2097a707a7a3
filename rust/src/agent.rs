//! The functions of mallow's agent: include/mallow/mallow.h, where each has its contract. They are
//! weak symbols, so a program links and runs without the agent, and the agent may be preloaded,
//! linked, or in a static program. Stable Rust has no weak symbols of its own; the assembler does.

use crate::report::{RawSite, RawSiteReport, RawThreadReport};
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int, c_void};

pub type Callback = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
pub type Filter = unsafe extern "C" fn(*const RawSite, *mut c_void) -> c_int;

/// A function of the agent's, as the assembler writes it into the table.
///
/// x86-64's GNU ld takes weak symbols that only data names for missing, so there it is the distance to
/// the symbol's place in the global offset table.
#[repr(transparent)]
pub struct Function<F> {
    #[cfg(target_arch = "x86_64")]
    distance: i32,
    #[cfg(not(target_arch = "x86_64"))]
    address: Option<F>,
    function: PhantomData<F>,
}

impl<F: Copy> Function<F> {
    /// None: the program has no agent.
    #[inline]
    pub fn get(&self) -> Option<F> {
        #[cfg(target_arch = "x86_64")]
        return unsafe {
            *(self as *const Self)
                .cast::<u8>()
                .wrapping_offset(self.distance as isize)
                .cast::<Option<F>>()
        };
        #[cfg(not(target_arch = "x86_64"))]
        return self.address;
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! entry {
    ($name:ident) => {
        concat!(".long mallow_api_", stringify!($name), "@GOTPCREL")
    };
}
#[cfg(not(target_arch = "x86_64"))]
macro_rules! entry {
    ($name:ident) => {
        concat!(".dc.a mallow_api_", stringify!($name))
    };
}

macro_rules! agent {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[repr(C)]
        pub struct Agent {
            $(pub $name: Function<unsafe extern "C" fn($($argument),*) $(-> $result)?>,)*
        }

        // One table for the program, however many copies of this crate it has: the linker keeps
        // one section of a group. What is appended to the table gives it a new number.
        std::arch::global_asm!(
            ".pushsection .data.rel.ro.mallow_agent, \"awG\", %progbits, mallow_rust_agent_1, comdat",
            ".balign 8",
            ".weak mallow_rust_agent_1",
            ".hidden mallow_rust_agent_1",
            ".type mallow_rust_agent_1, %object",
            "mallow_rust_agent_1:",
            $(concat!(".weak mallow_api_", stringify!($name)), entry!($name),)*
            ".size mallow_rust_agent_1, . - mallow_rust_agent_1",
            ".popsection",
        );
    };
}

agent! {
    mark: fn(*const c_char);
    start: fn();
    stop: fn();
    is_running: fn() -> c_int;
    sync: fn() -> c_int;
    set_tag: fn(u32);
    call_allocate: fn(Callback, *mut c_void, usize, usize) -> *mut c_void;
    call_reallocate: fn(Callback, *mut c_void, *mut c_void, usize) -> *mut c_void;
    call_free: fn(Callback, *mut c_void, *mut c_void);
    thread_report: fn() -> *mut RawThreadReport;
    thread_report_free: fn(*mut RawThreadReport);
    site_report: fn(Filter, *mut c_void) -> *mut RawSiteReport;
    site_report_free: fn(*mut RawSiteReport);
    export: fn(*const c_char, c_int) -> c_int;
}

#[inline]
pub fn agent() -> &'static Agent {
    extern "C" {
        #[link_name = "mallow_rust_agent_1"]
        static AGENT: Agent;
    }
    // Defined above, and never written after the program was loaded.
    unsafe { &AGENT }
}
