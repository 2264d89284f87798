//! The bounds of lookups, with origins that count and a clock that stands.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::*;

/// Every origin of the tests: each describes itself, but for some hosts.
struct Origins {
    fetches: AtomicUsize,
    /// A permit for each fetch at `slow.example` that may end.
    gate: Semaphore,
}

impl FetchDocument for Origins {
    fn fetch<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            self.fetches.fetch_add(1, Ordering::SeqCst);
            let host = url.host_str().unwrap();
            let issuer = if host == "another.example" { "https://x.example" } else { &format!("https://{host}") };
            match host {
                "slow.example" => self.gate.acquire().await.unwrap().forget(),
                "nobody.example" => return None,
                "panic.example" => panic!("a fetch that panics"),
                _ => {}
            }
            Some(format!(r#"{{"issuer":"{issuer}","jwks_uri":"https://keys.example/{host}"}}"#).into_bytes())
        })
    }
}

fn discovery(more: &str) -> (Arc<Origins>, Arc<Discovery>) {
    let text = format!("public_url = \"https://provider.example\"\naudience = \"a\"\n[open_registration]\n{more}");
    let origins = Arc::new(Origins { fetches: AtomicUsize::new(0), gate: Semaphore::new(0) });
    let config = Config::from_toml(&text).unwrap();
    (Arc::clone(&origins), Arc::new(Discovery::new(origins, &config)))
}

impl Origins {
    fn count(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }
}

fn origin(host: &str) -> OriginIssuer {
    OriginIssuer::new(&Issuer::parse(format!("https://{host}")).unwrap(), false).unwrap()
}

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + (seconds * 1000.0) as i64)
}

async fn found(discovery: &Discovery, host: &str, seconds: f64) -> Result<String, Undiscovered> {
    discovery.discover(&origin(host), at(seconds)).await.map(|agent| agent.jwks_uri.to_string())
}

async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_origin_that_describes_itself_is_found_and_named_by_itself() {
    let (_, discovery) = discovery("");
    let agent = discovery.discover(&origin("pa.example"), at(0.0)).await.unwrap();
    assert_eq!((agent.name.as_str(), agent.issuer.as_str()), ("https://pa.example", "https://pa.example"));
    assert_eq!((agent.jwks_uri.as_str(), agent.enabled), ("https://keys.example/pa.example", true));
}

#[tokio::test]
async fn a_lookup_begins_once_a_second_whoever_is_asked_for() {
    let (origins, discovery) = discovery("");
    assert!(found(&discovery, "a.example", 0.0).await.is_ok());
    for n in 0..100 {
        let host = format!("b-{n}.example");
        assert_eq!(found(&discovery, &host, 0.999).await, Err(Undiscovered::Busy));
    }
    assert_eq!(origins.count(), 1);
    assert!(found(&discovery, "a.example", 0.999).await.is_ok(), "what is remembered needs no lookup");
    assert!(found(&discovery, "b-1.example", 1.0).await.is_ok());
    assert_eq!(origins.count(), 2);
}

#[tokio::test]
async fn how_often_is_a_matter_of_configuration() {
    let (origins, discovery) = discovery("lookups_per_second = 4");
    for n in 0..40 {
        let _ = found(&discovery, &format!("h-{n}.example"), f64::from(n) * 0.05).await;
    }
    assert_eq!(origins.count(), 8);
}

// case 18
#[tokio::test]
async fn a_failure_is_remembered_for_five_minutes_and_so_is_another_issuers_document() {
    for host in ["nobody.example", "another.example", "panic.example"] {
        let (origins, discovery) = discovery("");
        for seconds in [0.0, 1.0, 60.0, 299.9] {
            assert_eq!(found(&discovery, host, seconds).await, Err(Undiscovered::Failed), "{host}");
        }
        assert_eq!(origins.count(), 1);
        assert_eq!(found(&discovery, host, 300.0).await, Err(Undiscovered::Failed));
        assert_eq!(origins.count(), 2);
    }
}

#[tokio::test]
async fn a_document_that_led_to_no_keys_is_a_failure_from_then_on() {
    let (origins, discovery) = discovery("remembered_seconds = 60");
    assert!(found(&discovery, "pa.example", 0.0).await.is_ok());
    discovery.failed(origin("pa.example").issuer());
    discovery.failed(origin("stranger.example").issuer());
    assert_eq!(found(&discovery, "pa.example", 59.0).await, Err(Undiscovered::Failed));
    assert!(found(&discovery, "pa.example", 60.0).await.is_ok());
    assert_eq!(origins.count(), 2);
    assert_eq!(discovery.state().lookups.len(), 1);
}

#[tokio::test]
async fn fifty_callers_at_once_share_one_lookup() {
    let (origins, discovery) = discovery("");
    let mut callers = JoinSet::new();
    for _ in 0..50 {
        let discovery = Arc::clone(&discovery);
        callers.spawn(async move { found(&discovery, "slow.example", 0.0).await });
    }
    settle().await;
    origins.gate.add_permits(50);
    assert_eq!(callers.join_all().await, vec![Ok("https://keys.example/slow.example".to_owned()); 50]);
    assert_eq!(origins.count(), 1);
}

#[tokio::test]
async fn a_slow_origin_holds_up_no_other() {
    let (origins, discovery) = discovery("");
    let stuck = tokio::spawn({
        let discovery = Arc::clone(&discovery);
        async move { found(&discovery, "slow.example", 0.0).await }
    });
    settle().await;
    assert!(found(&discovery, "a.example", 1.0).await.is_ok());
    assert_eq!((origins.count(), stuck.is_finished()), (2, false));
    stuck.abort();
}

#[tokio::test]
async fn a_lookup_goes_on_when_the_request_that_began_it_is_gone() {
    let (origins, discovery) = discovery("");
    let gone = tokio::spawn({
        let discovery = Arc::clone(&discovery);
        async move { found(&discovery, "slow.example", 0.0).await }
    });
    settle().await;
    gone.abort();
    origins.gate.add_permits(1);
    assert!(found(&discovery, "slow.example", 0.5).await.is_ok());
    assert_eq!(origins.count(), 1);
}

#[tokio::test]
async fn no_more_outcomes_are_in_memory_than_lookups_begin_while_they_are_remembered() {
    let (_, discovery) = discovery("lookups_per_second = 2\nremembered_seconds = 10");
    for n in 0..1000 {
        let host = if n % 2 == 0 { "nobody.example".to_owned() } else { format!("h-{n}.example") };
        let _ = found(&discovery, &host, f64::from(n) * 0.1).await;
        assert!(discovery.state().lookups.len() <= 20);
    }
    assert!(discovery.state().lookups.len() > 10);
}

#[tokio::test]
async fn who_is_turned_away_is_logged_once_a_minute() {
    let (_, discovery) = discovery("");
    let logged = |seconds: f64| {
        discovery.turned_away(1, at(seconds));
        discovery.state().full_logged
    };
    assert_eq!(logged(0.0), Some(at(0.0)));
    assert_eq!(logged(59.9), Some(at(0.0)));
    assert_eq!(logged(60.0), Some(at(60.0)));
}
