//! No route is without a budget: a walk through the table.

use super::*;
use crate::web::budget::Budget;
use crate::web::routes::{Place, table};

const ONE: &str = "trusted_proxies = [\"127.0.0.0/8\"]\n[limits]\npage_per_second = 1\npage_burst = 1\n\
                   address_per_second = 1\naddress_burst = 1\n";

#[tokio::test]
async fn every_route_but_the_signs_of_life_has_a_budget_and_says_in_its_own_words_that_it_is_spent() {
    let clock = Clock::manual(Timestamp::from_seconds(1_767_225_600));
    let served = Served::at(clock.clone(), ONE).await;
    let mut walked = 0_u8;
    for (place, path, methods, budget) in table() {
        let target = path.replace("{brand}", SHOP).replace("{file:.*}", "x.css").replace("{id:[^/]+}", "t-1");
        let target = target.replace("{id}", "t-1").replace("{config}", "c-1");
        let (address, host) = match place {
            Place::Provider => (served.running.public, PROVIDER),
            Place::Brand => (served.running.public, AIRLINE_HOST),
            Place::Administrators => (served.running.admin, "localhost"),
        };
        for method in methods {
            walked += 1;
            let head = format!(
                "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nX-Forwarded-For: 192.0.2.{walked}\r\n\r\n"
            );
            let ask = async || Answer::parse(&exchange(address, head.as_bytes()).await);
            let first = ask().await;
            assert_ne!(first.status, 429, "{method} {path}");
            let second = ask().await;
            if budget == Budget::Unlimited {
                assert!(["/healthz", "/readyz", "/metrics"].contains(&path.as_ref()), "{path} has no budget");
                assert_eq!(second.status, first.status);
                continue;
            }
            assert_eq!((second.status, second.header("retry-after")), (429, Some("1")), "{method} {path}");
            let content_type = match budget {
                Budget::Unlimited | Budget::Address | Budget::A2aCaller => None,
                Budget::Page | Budget::Console => Some("text/html; charset=utf-8"),
                Budget::OAuthCaller => Some("application/json"),
                Budget::ApiKey => Some("application/problem+json"),
            };
            assert_eq!(second.header("content-type"), content_type, "{method} {path}");
            // Nobody is looked at before the address is.
            let is_callers = matches!(budget, Budget::A2aCaller | Budget::OAuthCaller | Budget::ApiKey);
            assert_eq!(first.status == 401, is_callers, "{method} {path}");
            clock.advance(std::time::Duration::from_secs(1));
            assert_ne!(ask().await.status, 429, "{method} {path}");
        }
    }
    assert!(walked > 40, "{walked}");
    served.stop().await;
}
