//! Names to addresses: the resolver that is injected, and the guard that lets only checked addresses through.
//!
//! The guard's answer is the very list the HTTP client connects to, so a name cannot change its answer between the
//! check and the connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::{fmt, io};

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::Policy;

/// Finds the addresses of a name.
pub trait Resolver: Send + Sync + 'static {
    /// The addresses of `host`. A port of 0 stands for the port of the URL; another one is used unless the URL names
    /// a port itself.
    ///
    /// # Errors
    /// Whatever kept the name from being resolved.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// The operating system's resolver.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.collect()) })
    }
}

/// The same addresses for every name: a network where everything is at one place.
impl Resolver for Vec<SocketAddr> {
    fn resolve<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }
}

/// A name had addresses, but none that may be called.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no public address")]
pub(super) struct NoneAllowed;

/// A name had no address at all, or could not be resolved.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the name was not resolved")]
pub(super) struct NotResolved;

#[derive(Clone)]
pub(super) struct Guard {
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) policy: Arc<Policy>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { resolver, policy } = self.clone();
        Box::pin(async move {
            let host = name.as_str();
            let mut addresses = resolver.resolve(host).await.map_err(|_| NotResolved)?;
            if addresses.is_empty() {
                return Err(NotResolved.into());
            }
            addresses.retain(|address| policy.allows(host, address.ip()));
            if addresses.is_empty() {
                return Err(NoneAllowed.into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OutboundConfig;

    async fn let_through(addresses: &[&str]) -> Option<Vec<String>> {
        let addresses: Vec<SocketAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let policy = Arc::new(Policy::new(&OutboundConfig::default()));
        let guard = Guard { resolver: Arc::new(addresses), policy };
        let answer = guard.resolve("keys.example".parse().unwrap()).await.ok()?;
        Some(answer.map(|address| address.ip().to_string()).collect())
    }

    // case 15
    #[tokio::test]
    async fn of_a_mixed_answer_only_the_public_addresses_are_connected() {
        let mixed = let_through(&["10.0.0.1:0", "8.8.8.8:0", "[::ffff:10.0.0.1]:0", "[2606:4700::1111]:0"]).await;
        assert_eq!(mixed, Some(vec!["8.8.8.8".to_owned(), "2606:4700::1111".to_owned()]));
    }

    // case 15
    #[tokio::test]
    async fn an_answer_without_a_public_address_is_no_answer() {
        assert_eq!(let_through(&["127.0.0.1:0", "[fd00::1]:0", "100.64.0.1:0", "[64:ff9b::a00:1]:0"]).await, None);
        assert_eq!(let_through(&[]).await, None);
    }
}
