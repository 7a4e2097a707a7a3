//! The wrapper of a global allocator. The tool knows this file by its name: its functions are not the
//! reader's own code.

use crate::agent::{agent, Callback};
use std::alloc::{GlobalAlloc, Layout, System};
use std::any::TypeId;
use std::os::raw::c_void;

/// An allocator whose calls are all seen by mallow, whatever it is and wherever it is linked.
///
/// mallow sees [`System`] and many others by itself; those need no wrapper for a recording to be
/// whole, and are recorded once with it, too.
pub struct Mallow<A> {
    inner: A,
}

impl<A> Mallow<A> {
    pub const fn new(inner: A) -> Self {
        Mallow { inner }
    }
}

/// Calls `function` by one of the agent's functions, which takes a C function and its argument.
#[inline]
unsafe fn call<F: FnMut() -> *mut u8, R>(
    mut function: F,
    by: impl FnOnce(Callback, *mut c_void) -> R,
) -> R {
    unsafe extern "C" fn run<F: FnMut() -> *mut u8>(function: *mut c_void) -> *mut c_void {
        (*function.cast::<F>())().cast()
    }
    by(run::<F>, (&mut function as *mut F).cast())
}

impl<A: GlobalAlloc + 'static> Mallow<A> {
    /// Whether calls need not be handed over: they are malloc's.
    fn is_system() -> bool {
        TypeId::of::<A>() == TypeId::of::<System>()
    }

    #[inline]
    unsafe fn allocate(&self, layout: Layout, mut allocate: impl FnMut() -> *mut u8) -> *mut u8 {
        match agent().call_allocate.get() {
            Some(by) if !Self::is_system() => call(allocate, |run, argument| {
                by(run, argument, layout.size(), layout.align()).cast()
            }),
            _ => allocate(),
        }
    }
}

unsafe impl<A: GlobalAlloc + 'static> GlobalAlloc for Mallow<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.allocate(layout, || self.inner.alloc(layout))
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.allocate(layout, || self.inner.alloc_zeroed(layout))
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let reallocate = || self.inner.realloc(block, layout, size);
        match agent().call_reallocate.get() {
            Some(by) if !Self::is_system() => call(reallocate, |run, argument| {
                by(run, argument, block.cast(), size).cast()
            }),
            _ => reallocate(),
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match agent().call_free.get() {
            Some(by) if !Self::is_system() => {
                let release = || {
                    self.inner.dealloc(block, layout);
                    block
                };
                call(release, |run, argument| by(run, argument, block.cast()))
            }
            _ => self.inner.dealloc(block, layout),
        }
    }
}
