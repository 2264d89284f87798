//! `assent check`: what is wrong with a configuration, in plain words.

use crate::app::App;
use crate::domain::brand::Agent;

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
pub async fn check(app: &App) -> Vec<Finding> {
    let now = app.clock.now();
    let directory = app.directory.current();
    let mut findings = Vec::new();
    if app.config.outbound.allow_private {
        let problem = "is true: anybody who can name an address can make this server call it; unset it in production";
        findings.push(Finding::new("outbound.allow_private", Some(problem.to_owned())));
    }
    let agents = app.store.directory().await.map(|rows| rows.personal_agents).unwrap_or_default();
    if agents.is_empty() {
        let problem = "there are none: every request will get 401; add one with `assent apply`";
        findings.push(Finding::new("personal agents", Some(problem.to_owned())));
    }
    for agent in agents.iter().filter(|agent| agent.enabled) {
        let loads = app.directory.with_remote_keys(&agent.jwks_uri, now, |keys| Ok(keys.len())).await;
        findings
            .push(keys_finding(&format!("personal agent {}: jwks_uri {}", agent.issuer, agent.jwks_uri), loads.ok()));
    }
    let mut brands: Vec<_> = directory.brands().collect();
    brands.sort_by(|one, other| one.brand.id.cmp(&other.brand.id));
    for hosted in brands {
        let name = &hosted.brand.name;
        let alg = hosted.brand.delegation.as_ref().map(|delegation| delegation.signing_alg).unwrap_or_default();
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
    findings
}

fn keys_finding(subject: &str, usable: Option<usize>) -> Finding {
    let problem = match usable {
        None => Some("does not load: it must answer 200 with a JWK set within 5 seconds and 64 KiB".to_owned()),
        Some(0) => Some("has no key that can be used: ES256 on P-256, or RS256 with 2048 to 8192 bits".to_owned()),
        Some(_) => None,
    };
    Finding::new(subject, problem)
}
