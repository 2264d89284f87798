//! Both listeners: bound, answering, and stopped so that what was begun is finished.
//!
//! A client that drips is given up: `listener` and `paced` bound how long a head may take, whichever request of its
//! connection it is.

mod listener;
mod paced;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::App as Service;
use actix_web::dev::{Server, ServerHandle};
use actix_web::middleware::from_fn;
use actix_web::web::{Data, ServiceConfig};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tracing_actix_web::TracingLogger;

use crate::app::App;
use crate::flow::background;
use crate::web::request::{self, RootSpan};
use crate::web::routes;
use crate::web::site::Hosts;

/// A directive for the log's filter. The library calls each connection that does not speak HTTP an error, of which anybody
/// can make as many as they like.
pub const NOT_HTTP: &str = "actix_http::h1::dispatcher=off";

/// The listeners at work.
pub struct Running {
    /// Where the public one is bound.
    pub public: SocketAddr,
    /// Where the administrators' one is bound.
    pub admin: SocketAddr,
    handles: [ServerHandle; 2],
    tasks: [JoinHandle<io::Result<()>>; 2],
    background: [JoinHandle<()>; 3],
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
    if app.config.outbound.allow_private {
        tracing::warn!(
            "outbound.allow_private is on: http: and private addresses are called without a check. \
             Never run a Provider like this; it is for development and tests."
        );
    }
    let hosts = Arc::new(Hosts::new(&app.config));
    let config = &app.config;
    let (public, public_address) = listener::bind("listen", config.listen)?;
    let (admin, admin_address) = listener::bind("admin_listen", config.admin_listen)?;

    let public = serve_public(public, &app, &hosts, routes::configure_public)?;
    let admin = serve_administrators(admin, &app, &hosts, routes::configure_administrators)?;

    let handles = [public.handle(), admin.handle()];
    let spawn = |server: Server| tokio::spawn(server);
    let tasks = [spawn(public), spawn(admin)];
    let background = [
        tokio::spawn(background::follow_directory(Arc::clone(&app))),
        tokio::spawn(background::sweep(Arc::clone(&app))),
        tokio::spawn(background::tell_brands(Arc::clone(&app))),
    ];
    tracing::info!(public = %public_address, admin = %admin_address, "listening");
    Ok(Running { public: public_address, admin: admin_address, handles, tasks, background })
}

/// Serves `routes` on the public listener, with one worker for each core.
fn serve_public(
    listener: TcpListener,
    app: &Arc<App>,
    hosts: &Arc<Hosts>,
    routes: fn(&mut ServiceConfig),
) -> io::Result<Server> {
    let workers = std::thread::available_parallelism().map_or(2, |cores| cores.get());
    let (data, hosts, port) = (Data::from(Arc::clone(app)), Arc::clone(hosts), listener.local_addr()?.port());
    listener::serve(listener, workers, &app.config, move || {
        let (hosts, app) = (Arc::clone(&hosts), data.clone());
        let admit = move |request, next| {
            let (hosts, directory) = (Arc::clone(&hosts), app.directory.current());
            async move { request::public(request, next, &hosts, port, &directory).await }
        };
        let service = Service::new().app_data(data.clone()).configure(routes);
        service.wrap(from_fn(admit)).wrap(TracingLogger::<RootSpan>::new())
    })
}

/// Serves `routes` on the administrators' listener, with one worker.
fn serve_administrators(
    listener: TcpListener,
    app: &Arc<App>,
    hosts: &Arc<Hosts>,
    routes: fn(&mut ServiceConfig),
) -> io::Result<Server> {
    let (data, hosts) = (Data::from(Arc::clone(app)), Arc::clone(hosts));
    listener::serve(listener, 1, &app.config, move || {
        let hosts = Arc::clone(&hosts);
        let admit = move |request, next| {
            let hosts = Arc::clone(&hosts);
            async move { request::administrators(request, next, &hosts).await }
        };
        let service = Service::new().app_data(data.clone()).configure(routes);
        service.wrap(from_fn(admit)).wrap(TracingLogger::<RootSpan>::new())
    })
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
        // Also bidirectional controls: none of them is printable.
        let text = panic.payload_as_str().unwrap_or("not text");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(text = %text.escape_debug(), place, "panic");
    }));
}

#[cfg(test)]
mod tests;
