//! What this process logs, at its most talkative, while a test listens: for a search through it.
//!
//! There is one log per process. Where tests share a process, each also hears the others, which harms none: whatever a
//! test looks for is its own, and must be in nobody's line.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt, registry};

struct Heard {
    listeners: usize,
    /// Of every crate and at every level.
    text: Vec<u8>,
    /// All of the program itself, and of its libraries what an operator sees; in both forms that a log has.
    shown: Vec<u8>,
}

static HEARD: Mutex<Heard> = Mutex::new(Heard { listeners: 0, text: Vec::new(), shown: Vec::new() });

thread_local! {
    /// What the requests of this thread's test carried since it listens.
    static CARRIED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

fn heard() -> MutexGuard<'static, Heard> {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes down what is logged while anyone listens.
#[derive(Clone, Copy)]
enum Pen {
    Text,
    Shown,
}

impl Write for Pen {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut heard = heard();
        if heard.listeners > 0 {
            match self {
                Self::Text => heard.text.extend_from_slice(line),
                Self::Shown => heard.shown.extend_from_slice(line),
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Notes what a request carries, if its test listens.
pub(super) fn note_carried(secrets: &[String]) {
    CARRIED.with_borrow_mut(|carried| carried.iter_mut().for_each(|carried| carried.extend_from_slice(secrets)));
}

/// One who listens.
pub(crate) struct Listener(());

impl Listener {
    /// Hears all that is logged from now on, of every crate and at every level.
    pub(crate) fn start() -> Self {
        static SUBSCRIBE: Once = Once::new();
        heard().listeners += 1;
        CARRIED.set(Some(Vec::new()));
        SUBSCRIBE.call_once(|| {
            let shown = || EnvFilter::new("info,assent=trace");
            let all = fmt::layer().with_ansi(false).with_writer(|| Pen::Text).with_filter(LevelFilter::TRACE);
            let text = fmt::layer().with_ansi(false).with_writer(|| Pen::Shown).with_filter(shown());
            let json = fmt::layer().json().flatten_event(true).with_writer(|| Pen::Shown).with_filter(shown());
            let log = registry().with(all).with(text).with(json);
            log.try_init().expect("nobody else takes the log of the tests");
        });
        Self(())
    }

    /// The log so far, of every crate and at every level.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&heard().text).into_owned()
    }

    /// The log so far as an operator sees it, in both of its forms.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&heard().shown).into_owned()
    }

    /// What the requests of this test carried so far: bearer tokens, cookies, the fields of forms that prove something.
    pub(crate) fn carried(&self) -> Vec<String> {
        CARRIED.with_borrow(|carried| carried.clone().unwrap_or_default())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut heard = heard();
        heard.listeners -= 1;
        if heard.listeners == 0 {
            (heard.text, heard.shown) = (Vec::new(), Vec::new());
        }
        CARRIED.set(None);
    }
}
