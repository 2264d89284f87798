//! One listener: bound, and served by as many workers as it is given.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_http::body::MessageBody;
use actix_http::error::DispatchError;
use actix_http::{HttpService, Protocol, Request, Response};
use actix_server::Server;
use actix_service::{IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt as _, fn_service, map_config};
use actix_web::Error;
use actix_web::dev::AppConfig;
use tokio::net::{TcpSocket, TcpStream};

use super::paced::{Pace, Paced};
use crate::config::Config;

/// How long the other side may take to close its half once an answer ended the connection.
const DISCONNECT_WITHIN: Duration = Duration::from_secs(1);
/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;
/// How long after a deadline of actix's own the stream's stands: actix ends a connection in better form.
const GRACE: Duration = Duration::from_secs(1);

/// An address that is bound. Port 0 stands for any free one.
///
/// # Errors
/// An address that cannot be bound, named by its key in the configuration.
pub(super) fn bind(key: &str, address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?.into_std()?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound().map_err(|error: io::Error| io::Error::new(error.kind(), format!("{key}: {address}: {error}")))
}

/// Serves what `service` makes, one for each of `workers`.
///
/// # Errors
/// What the system refuses.
pub(super) fn serve<F, I, S, B>(
    listener: TcpListener,
    workers: usize,
    config: &Config,
    service: F,
) -> io::Result<Server>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<Error> + 'static,
    S::InitError: fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    <S::Service as Service<Request>>::Future: 'static,
    S::Service: 'static,
    B: MessageBody + 'static,
{
    let (headers_within, keep_alive) = (config.http.headers_within(), config.http.keep_alive());
    let pace = Pace { headers_within, keep_alive: keep_alive + GRACE };
    let server = Server::build()
        .workers(workers)
        .max_concurrent_connections(config.limits.connections.div_ceil(workers))
        .shutdown_timeout(config.shutdown_seconds)
        .disable_signals();
    let stopping = server.graceful_shutdown_signal();
    let connections = move || {
        let stopping = stopping.clone();
        let service = service().into_factory().map_err(|error| error.into().error_response());
        let http = HttpService::build()
            .keep_alive(keep_alive)
            .client_request_timeout(headers_within)
            .client_disconnect_timeout(DISCONNECT_WITHIN)
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .on_connect_ext(|stream: &Paced<TcpStream>, data| {
                data.insert(stream.connection().clone());
            })
            .finish(map_config(service, |()| AppConfig::default()));
        let accepted = fn_service(move |stream: TcpStream| async move {
            let peer = stream.peer_addr().ok();
            Ok::<_, DispatchError>((Paced::new(stream, pace), Protocol::Http1, peer))
        });
        accepted.and_then(http)
    };
    Ok(server.listen("http", listener, connections)?.run())
}
