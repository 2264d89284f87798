//! `assent check`: what is wrong with a configuration, in plain words.

use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use url::Url;

use crate::app::App;
use crate::clock::Timestamp;
use crate::config::PersonalAgents;
use crate::domain::brand::Agent;
use crate::flow::Fault;
use crate::outbound::{Outbound, Request, SystemResolver};

/// Clocks may differ by 29 s before JWTs are refused (PACT §3.2); this leaves room for the way.
const CLOCKS_APART: Duration = Duration::from_secs(20);

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What.
    pub subject: String,
    /// `None` when it is well; otherwise what is wrong and what to do.
    pub problem: Option<String>,
}

impl Finding {
    fn new(subject: impl Into<String>, problem: Option<String>) -> Self {
        Self { subject: subject.into(), problem }
    }
}

/// Looks at everything that the running server will depend on: keys that must load, keys that must sign, and settings
/// that are meant for development.
pub async fn check(app: &App) -> Result<Vec<Finding>, Fault> {
    let now = app.clock.now();
    let directory = app.directory.current();
    let mut findings = Vec::new();
    if app.config.outbound.allow_private {
        let problem = "is true: anybody who can name an address can make this server call it; unset it in production";
        findings.push(Finding::new("outbound.allow_private", Some(problem.to_owned())));
    }
    let agents = app.store.directory().await?.personal_agents;
    match app.config.personal_agents {
        PersonalAgents::Registered if agents.is_empty() => {
            let problem = "there are none: every request will get 401; add one with `assent apply`";
            findings.push(Finding::new("personal agents", Some(problem.to_owned())));
        }
        PersonalAgents::Registered => {}
        PersonalAgents::Open => {
            findings.push(open_finding(agents.len(), app.config.open_registration.max_personal_agents));
        }
    }
    // Those that registered themselves may be thousands of strangers: whether their keys load is their own affair, and
    // what their servers take for the time proves nothing.
    let agents: Vec<_> = agents.into_iter().filter(|agent| agent.enabled && agent.has_own_name()).collect();
    for agent in &agents {
        let loads = app.directory.with_remote_keys(&agent.jwks_uri, now, |keys| Ok(keys.len())).await;
        findings
            .push(keys_finding(&format!("personal agent {}: jwks_uri {}", agent.issuer, agent.jwks_uri), loads.ok()));
    }
    if let Some(agent) = agents.first()
        && let Some(theirs) = clock_of(app, &agent.jwks_uri).await
    {
        findings.push(clock_finding(app.clock.now(), theirs));
    }
    let mut brands: Vec<_> = directory.brands().collect();
    brands.sort_by(|one, other| one.brand.id.cmp(&other.brand.id));
    for hosted in brands {
        let name = &hosted.brand.name;
        let alg = hosted.brand.signing_alg();
        let signs = hosted.ring.signer(now, alg).is_some();
        let problem = (!signs).then(|| "has no key that may sign now".to_owned());
        findings.push(Finding::new(format!("Brand {name}: signing key"), problem));
        if let Some((delegation, offer)) = hosted.delegation() {
            let issuer = &delegation.assertion;
            let loads = app.directory.with_assertion_keys(issuer, offer, now, |keys| Ok(keys.len())).await;
            findings.push(keys_finding(&format!("Brand {name}: keys of its login"), loads.ok()));
        }
        if let Agent::Builtin(_) = &hosted.brand.profile.agent {
            let problem = "is the scripted demo agent; give the Brand an agent of its own with agent = { url = … }";
            findings.push(Finding::new(format!("Brand {name}: agent"), Some(problem.to_owned())));
        }
    }
    Ok(findings)
}

/// What the server at `url` says the time is (RFC 9110 §6.6.1), if it says so.
async fn clock_of(app: &App, url: &Url) -> Option<Timestamp> {
    let outbound = Outbound::new(&app.config.outbound, Arc::new(SystemResolver)).ok()?;
    let answer = outbound.exchange(Request::get(url.clone())).await.ok()?;
    let date = answer.header("date")?.replace("GMT", "+0000");
    Some(Timestamp::from_seconds(OffsetDateTime::parse(&date, &Rfc2822).ok()?.unix_timestamp()))
}

fn open_finding(count: usize, most: u32) -> Finding {
    let subject = format!(
        "personal_agents is \"open\": whoever proves to be behind an HTTPS origin may call; {count} of at most {most} \
         personal agents have a row"
    );
    let is_full = count >= usize::try_from(most).unwrap_or(usize::MAX);
    let problem = "and no more can register themselves: raise open_registration.max_personal_agents or close again";
    Finding::new(subject, is_full.then(|| problem.to_owned()))
}

fn clock_finding(ours: Timestamp, theirs: Timestamp) -> Finding {
    let apart = ours.since(theirs).max(theirs.since(ours));
    let problem = (apart > CLOCKS_APART).then(|| {
        let seconds = apart.as_secs();
        format!("differs by {seconds} s from a personal agent's server; JWTs are refused beyond 29 s: use NTP")
    });
    Finding::new("clock", problem)
}

fn keys_finding(subject: &str, usable: Option<usize>) -> Finding {
    let problem = match usable {
        None => Some(
            "does not load: it must answer 200 with a JWK set within outbound.timeout_seconds and outbound.max_bytes"
                .to_owned(),
        ),
        Some(0) => Some("has no key that can be used: ES256 on P-256, or RS256 with 2048 to 8192 bits".to_owned()),
        Some(_) => None,
    };
    Finding::new(subject, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_provider_says_so_and_that_it_is_full_is_a_problem() {
        let open = open_finding(2, 3);
        assert!(open.subject.contains("\"open\"") && open.subject.contains("2 of at most 3"), "{}", open.subject);
        assert_eq!(open.problem, None);
        for count in [3, 4] {
            assert!(open_finding(count, 3).problem.unwrap().contains("max_personal_agents"));
        }
    }

    #[test]
    fn a_clock_that_is_off_either_way_is_a_problem() {
        let now = Timestamp::from_seconds(1_767_225_600);
        for seconds in [0, 20] {
            assert_eq!(clock_finding(now, now.plus(Duration::from_secs(seconds))).problem, None);
        }
        let late = clock_finding(now, now.plus(Duration::from_secs(21))).problem.unwrap();
        let early = clock_finding(now.plus(Duration::from_secs(21)), now).problem.unwrap();
        assert!(late.contains("21 s") && early == late);
    }
}
