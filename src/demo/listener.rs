//! A small HTTP server on loopback for one of the demo's outside parties.

use std::net::{Ipv4Addr, TcpListener};

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer, web};

use super::DemoError;

/// Takes a free port on loopback.
///
/// # Errors
/// [`DemoError::Io`] when there is none.
pub(super) fn free_port() -> Result<(TcpListener, u16), DemoError> {
    let error = |error| DemoError::Io { what: "a port on loopback", error };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(error)?;
    let port = listener.local_addr().map_err(error)?.port();
    Ok((listener, port))
}

/// Serves `routes` at `listener` until the handle stops it.
///
/// # Errors
/// [`DemoError::Io`] when the listener cannot be used.
pub(super) fn serve(
    listener: TcpListener,
    routes: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
) -> Result<ServerHandle, DemoError> {
    let server = HttpServer::new(move || App::new().configure(routes.clone()))
        .workers(1)
        .disable_signals()
        .shutdown_timeout(1)
        .listen(listener)
        .map_err(|error| DemoError::Io { what: "a listener on loopback", error })?
        .run();
    let handle = server.handle();
    tokio::spawn(server);
    Ok(handle)
}
