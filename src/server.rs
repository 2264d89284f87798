//! Both listeners: bound, answering, and stopped so that what was begun is finished.
//!
//! Headers that do not arrive within eight seconds end their connection, in time for everyone who expects ten.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::middleware::from_fn;
use actix_web::web::Data;
use actix_web::{App as Service, HttpServer};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tracing_actix_web::TracingLogger;

use crate::app::App;
use crate::flow::background;
use crate::web::request::{self, RootSpan};
use crate::web::routes;
use crate::web::site::Hosts;

/// How long the headers of a connection's first request may take.
const HEADERS_WITHIN: Duration = Duration::from_secs(8);
/// How long a connection may be idle between requests: longer than the minute after which load balancers drop theirs.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long the other side may take to close its half once an answer ended the connection.
const DISCONNECT_WITHIN: Duration = Duration::from_secs(1);

/// The listeners at work.
pub struct Running {
    /// Where the public one is bound.
    pub public: SocketAddr,
    /// Where the administrators' one is bound.
    pub admin: SocketAddr,
    handles: [ServerHandle; 2],
    tasks: [JoinHandle<io::Result<()>>; 2],
    background: [JoinHandle<()>; 2],
}

impl Running {
    /// Refuses new connections and ends; `graceful` lets what is in flight finish within `shutdown_seconds`.
    ///
    /// # Errors
    /// What a listener ended with.
    pub async fn stop(self, graceful: bool) -> io::Result<()> {
        let [public, admin] = self.handles;
        tokio::join!(public.stop(graceful), admin.stop(graceful));
        for flow in self.background {
            flow.abort();
        }
        for task in self.tasks {
            task.await.map_err(io::Error::other)??;
        }
        Ok(())
    }

    /// Returns when a listener ends by itself.
    async fn ended(&mut self) {
        let [public, admin] = &mut self.tasks;
        tokio::select! { _ = public => {}, _ = admin => {} }
    }
}

/// Binds both listeners, answers from them, and begins the background flows. Port 0 stands for any free one.
///
/// # Errors
/// An address that cannot be bound, named by its key in the configuration.
pub async fn start(app: Arc<App>) -> io::Result<Running> {
    start_within(app, HEADERS_WITHIN)
}

fn start_within(app: Arc<App>, headers_within: Duration) -> io::Result<Running> {
    if app.config.outbound.allow_private {
        tracing::warn!(
            "outbound.allow_private is on: http: and private addresses are called without a check. \
             Never run a Provider like this; it is for development and tests."
        );
    }
    let hosts = Arc::new(Hosts::new(&app.config));
    let config = &app.config;
    let workers = std::thread::available_parallelism().map_or(2, |cores| cores.get());

    let data = Data::from(Arc::clone(&app));
    let public_hosts = Arc::clone(&hosts);
    let public = HttpServer::new(move || {
        let (hosts, data) = (Arc::clone(&public_hosts), data.clone());
        let admit = {
            let data = data.clone();
            move |request, next| {
                let (hosts, directory) = (Arc::clone(&hosts), data.directory.current());
                async move { request::public(request, next, &hosts, &directory).await }
            }
        };
        Service::new()
            .app_data(data)
            .configure(routes::configure_public)
            .wrap(from_fn(admit))
            .wrap(TracingLogger::<RootSpan>::new())
    })
    .workers(workers);

    let data = Data::from(Arc::clone(&app));
    let admin = HttpServer::new(move || {
        let hosts = Arc::clone(&hosts);
        let admit = move |request, next| {
            let hosts = Arc::clone(&hosts);
            async move { request::administrators(request, next, &hosts).await }
        };
        Service::new()
            .app_data(data.clone())
            .configure(routes::configure_administrators)
            .wrap(from_fn(admit))
            .wrap(TracingLogger::<RootSpan>::new())
    })
    .workers(1);

    macro_rules! serve {
        ($server:ident, $key:literal, $address:expr) => {{
            let server = $server
                .client_request_timeout(headers_within)
                .client_disconnect_timeout(DISCONNECT_WITHIN)
                .keep_alive(KEEP_ALIVE)
                .shutdown_timeout(config.shutdown_seconds)
                .disable_signals()
                .bind($address)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {}: {error}", $key, $address)))?;
            let bound = server.addrs().first().copied().unwrap_or($address);
            (server.run(), bound)
        }};
    }
    let (public, public_address) = serve!(public, "listen", config.listen);
    let (admin, admin_address) = serve!(admin, "admin_listen", config.admin_listen);

    let handles = [public.handle(), admin.handle()];
    let spawn = |server: Server| tokio::spawn(server);
    let tasks = [spawn(public), spawn(admin)];
    let background = [
        tokio::spawn(background::follow_directory(Arc::clone(&app))),
        tokio::spawn(background::sweep(Arc::clone(&app))),
    ];
    tracing::info!(public = %public_address, admin = %admin_address, "listening");
    Ok(Running { public: public_address, admin: admin_address, handles, tasks, background })
}

/// Serves until SIGTERM or SIGINT, then lets what is in flight finish.
///
/// # Errors
/// As [`start`]; and what a listener ended with.
pub async fn run(app: Arc<App>) -> io::Result<()> {
    log_panics();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut running = start(app).await?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = running.ended() => return Err(io::Error::other("a listener ended by itself")),
    }
    tracing::info!("stopping");
    running.stop(true).await
}

/// Has panics logged like every other fault, in the span of their request and with their text escaped: it may quote
/// what a client sent.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload_as_str().unwrap_or("not text");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(text = %text.escape_debug(), place, "panic");
    }));
}

#[cfg(test)]
mod tests;
