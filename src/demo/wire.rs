//! The demo's way out: each exchange is made by the rules of [`crate::outbound`], and told.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Broken;
use super::narration::Narration;
use crate::config::OutboundConfig;
use crate::outbound::{Outbound, OutboundError, Request, Resolver, Response};

/// Resolves `localhost` and every name under it to 127.0.0.1, as browsers do (RFC 6761 §6.3) and system resolvers often
/// do not. Refuses every other name: the demo calls nobody outside this machine.
struct Loopback;

impl Resolver for Loopback {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        let host = host.to_ascii_lowercase();
        let local = host == "localhost" || host.ends_with(".localhost");
        let answer = if local {
            Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))])
        } else {
            Err(io::Error::new(io::ErrorKind::NotFound, "the demo calls nobody outside this machine"))
        };
        Box::pin(std::future::ready(answer))
    }
}

/// A client that reaches this machine only.
///
/// # Errors
/// [`OutboundError::Setup`].
pub(super) fn client() -> Result<Outbound, OutboundError> {
    let config = OutboundConfig { allow_private: true, ..OutboundConfig::default() };
    Outbound::new(&config, Arc::new(Loopback))
}

/// A client and the telling of what it does.
pub(super) struct Wire {
    outbound: Outbound,
    /// Where exchanges are told.
    pub(super) narration: Narration,
}

impl Wire {
    pub(super) const fn new(outbound: Outbound, narration: Narration) -> Self {
        Self { outbound, narration }
    }

    /// Makes an exchange, and tells it under one sentence of why.
    pub(super) async fn exchange(&mut self, why: &str, request: Request) -> Result<Response, Broken> {
        self.exchange_telling(why, request, |_| true).await
    }

    /// Makes an exchange, and tells it when `worth_telling`.
    pub(super) async fn exchange_telling(
        &mut self,
        why: &str,
        request: Request,
        worth_telling: impl FnOnce(&Response) -> bool,
    ) -> Result<Response, Broken> {
        let response = self.outbound.exchange(request.clone()).await?;
        if worth_telling(&response) {
            self.narration.exchange(why, &request, &response);
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn names_under_localhost_are_this_machine_and_no_other_name_is_resolved() {
        for name in ["localhost", "shop.localhost", "auth.shop.LOCALHOST"] {
            assert_eq!(Loopback.resolve(name).await.unwrap(), ["127.0.0.1:0".parse().unwrap()]);
        }
        for name in ["example.com", "notlocalhost", "localhost.example.com"] {
            assert!(Loopback.resolve(name).await.is_err(), "{name}");
        }
    }
}
