//! A stream that gives up on a peer that drips.
//!
//! actix times the head of a connection's first request alone, and neither a later head nor the rest of a body that nobody
//! reads. Here, what comes after an answer must amount to a whole head within `headers_within` of its first byte, and must
//! begin within `keep_alive`; past that, reading and writing fail and the connection ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::web::connection::{Connection, Phase};

/// How long a peer may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// From the first byte of a head to its end.
    pub(super) headers_within: Duration,
    /// From an answer to the first byte of the next head.
    pub(super) keep_alive: Duration,
}

/// A stream at a [`Pace`].
pub(super) struct Paced<S> {
    stream: S,
    connection: Connection,
    pace: Pace,
    timer: Option<Pin<Box<Sleep>>>,
    /// What the timer was set for.
    timed: (Phase, u64),
}

impl<S> Paced<S> {
    pub(super) fn new(stream: S, pace: Pace) -> Self {
        let connection = Connection::default();
        let timed = connection.state();
        Self { stream, connection, pace, timer: None, timed }
    }

    pub(super) const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Ready with an error once the peer has taken too long.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let state = self.connection.state();
        let within = match state.0 {
            Phase::Busy => return Poll::Pending,
            Phase::Quiet => self.pace.keep_alive,
            Phase::Head => self.pace.headers_within,
        };
        let timer = match &mut self.timer {
            Some(timer) => {
                if self.timed != state {
                    timer.set(sleep(within));
                }
                timer
            }
            none => none.insert(Box::pin(sleep(within))),
        };
        self.timed = state;
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(cx, buffer) else {
            return this.poll_late(cx).map(Err);
        };
        if buffer.filled().len() > before {
            this.connection.heard();
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let Poll::Ready(written) = Pin::new(&mut this.stream).poll_write(cx, bytes) else {
            // A peer that does not take its answer.
            return this.poll_late(cx).map(Err);
        };
        Poll::Ready(written)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // After each answer comes a flush, and perhaps nothing else for long: here the timer is set.
        if let Poll::Ready(late) = this.poll_late(cx) {
            return Poll::Ready(Err(late));
        }
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
