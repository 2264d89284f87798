//! How far a connection is with its next request: what the stream that reads it and the requests that it carries know of
//! each other.

use std::cell::Cell;
use std::rc::Rc;

use actix_web::dev::ServiceRequest;

/// What a connection is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// A request is being answered, or the first is awaited, which the HTTP library ends with 408.
    Busy,
    /// Nothing has come since an answer was ready.
    Quiet,
    /// Something has, and no whole head yet.
    Head,
}

/// A connection, on the thread that serves it.
#[derive(Clone, Debug)]
pub struct Connection(Rc<Cell<(Phase, u64)>>);

impl Default for Connection {
    fn default() -> Self {
        Self(Rc::new(Cell::new((Phase::Busy, 0))))
    }
}

impl Connection {
    /// What it is doing, and a number that differs whenever that began anew.
    pub fn state(&self) -> (Phase, u64) {
        self.0.get()
    }

    /// Bytes have come.
    pub fn heard(&self) {
        if let (Phase::Quiet, number) = self.0.get() {
            self.0.set((Phase::Head, number));
        }
    }

    fn answering(&self) -> Answering {
        let (_, number) = self.0.get();
        self.0.set((Phase::Busy, number));
        Answering(self.clone())
    }
}

/// A request is being answered, until this is dropped: then the next one is awaited.
#[derive(Debug)]
pub struct Answering(Connection);

impl Drop for Answering {
    fn drop(&mut self) {
        let Connection(state) = &self.0;
        let (_, number) = state.get();
        state.set((Phase::Quiet, number.wrapping_add(1)));
    }
}

/// Says on the connection of `request` that this request's head is complete.
pub(super) fn answering(request: &ServiceRequest) -> Option<Answering> {
    request.conn_data::<Connection>().map(Connection::answering)
}
