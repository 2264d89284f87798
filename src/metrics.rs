//! What this node has counted since it started, in the text format of OpenMetrics.
//!
//! Labels are constants of the program, patterns of the route table and Brands' ids: nothing that a client writes becomes
//! a label, so their number is bounded and no one's data is in them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The upper bounds of the histogram of answers, in seconds.
const SECONDS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];

/// What somebody presents to be recognised by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Credential {
    /// A personal agent's JWT (PACT §3.2).
    PaJwt,
    /// A delegation token (PACT §5.5).
    DelegationToken,
    /// A Brand login's assertion (PACT §5.3).
    Assertion,
    /// An administrator's name and password, and second factor.
    Password,
    /// An API key.
    ApiKey,
    /// A Brand's resource-server key.
    ResourceServerKey,
}

impl Credential {
    /// As it is written in a label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PaJwt => "pa_jwt",
            Self::DelegationToken => "delegation_token",
            Self::Assertion => "assertion",
            Self::Password => "password",
            Self::ApiKey => "api_key",
            Self::ResourceServerKey => "resource_server_key",
        }
    }
}

impl EncodeLabelValue for Credential {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.name().encode(encoder)
    }
}

/// What became of a turn at a Brand's agent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AgentTurn {
    /// It was answered in form, whatever the answer.
    Answered,
    /// The agent could not be reached, or its answer was none.
    Failed,
    /// No answer came in time.
    TimedOut,
    /// The agent was busy, or had as many turns in flight as it may have.
    Busy,
    /// It claimed authority that it did not have.
    Overreached,
}

impl AgentTurn {
    /// As it is written in a label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Busy => "busy",
            Self::Overreached => "overreached",
        }
    }
}

impl EncodeLabelValue for AgentTurn {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.name().encode(encoder)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct AnswerLabels {
    route: String,
    status: u16,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RefusalLabels {
    credential: Credential,
    reason: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct TurnLabels {
    brand: String,
    outcome: AgentTurn,
}

/// Makes the histogram of a route that is answered for the first time.
#[derive(Clone)]
struct AnswerTimes;

impl MetricConstructor<Histogram> for AnswerTimes {
    fn new_metric(&self) -> Histogram {
        Histogram::new(SECONDS)
    }
}

/// Counters and gauges of one node.
pub struct Metrics {
    registry: Registry,
    answers: Family<AnswerLabels, Counter>,
    answer_seconds: Family<RouteLabels, Histogram, AnswerTimes>,
    refusals: Family<RefusalLabels, Counter>,
    /// Which refusals there were: a family does not tell.
    reasons: Mutex<BTreeSet<(Credential, &'static str)>>,
    turns: Family<TurnLabels, Counter>,
    key_sets_failing: Gauge,
    brands: Gauge,
    personal_agents: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let answers = Family::default();
        let answer_seconds = Family::new_with_constructor(AnswerTimes);
        let (refusals, turns) = (Family::default(), Family::default());
        let (key_sets_failing, brands, personal_agents) = (Gauge::default(), Gauge::default(), Gauge::default());
        let mut registry = Registry::with_prefix("assent");
        registry.register("answers", "Answers by route and status", Family::clone(&answers));
        let help = "Time until an answer began";
        registry.register_with_unit("answer", help, Unit::Seconds, Family::clone(&answer_seconds));
        registry.register("refused_authentications", "Credentials that were refused", Family::clone(&refusals));
        registry.register("agent_turns", "Turns at Brands' agents by what became of them", Family::clone(&turns));
        let help = "Key sets of others of which the last fetch failed";
        registry.register("key_sets_failing", help, Gauge::clone(&key_sets_failing));
        registry.register("brands", "Brands in the directory", Gauge::clone(&brands));
        let help = "Personal agents in the directory, disabled ones included";
        registry.register("personal_agents", help, Gauge::clone(&personal_agents));
        Self {
            registry,
            answers,
            answer_seconds,
            refusals,
            reasons: Mutex::default(),
            turns,
            key_sets_failing,
            brands,
            personal_agents,
        }
    }
}

/// What is true at the instant at which the metrics are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Levels {
    /// Key sets of others of which the last fetch failed.
    pub key_sets_failing: usize,
    /// Brands in the directory.
    pub brands: usize,
    /// Personal agents in the directory.
    pub personal_agents: usize,
}

/// One kind of refusal and how often it happened on this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusalCount {
    /// What was presented.
    pub credential: Credential,
    /// Why it was refused.
    pub reason: &'static str,
    /// How often since the start.
    pub count: u64,
}

impl Metrics {
    /// Counts an answer to a request that came to the row `route` of the table.
    pub fn answered(&self, route: &str, status: u16, took: Duration) {
        self.answers.get_or_create(&AnswerLabels { route: route.to_owned(), status }).inc();
        self.answer_seconds.get_or_create(&RouteLabels { route: route.to_owned() }).observe(took.as_secs_f64());
    }

    /// Counts a credential that was refused. `reason` is a constant of the program.
    pub fn refused(&self, credential: Credential, reason: &'static str) {
        self.refusals.get_or_create(&RefusalLabels { credential, reason }).inc();
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).insert((credential, reason));
    }

    /// How often each kind of credential was refused, and why.
    pub fn refusals(&self) -> Vec<RefusalCount> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = reasons.iter().map(|(credential, reason)| {
            let labels = RefusalLabels { credential: *credential, reason };
            let count = self.refusals.get(&labels).map_or(0, |counter| counter.get());
            RefusalCount { credential: *credential, reason, count }
        });
        counted.collect()
    }

    /// Counts a turn at the agent of a Brand.
    pub fn turn(&self, brand: &str, outcome: AgentTurn) {
        self.turns.get_or_create(&TurnLabels { brand: brand.to_owned(), outcome }).inc();
    }

    /// How many turns at the agent of a Brand came to this end since the start.
    pub fn turns_of(&self, brand: &str, outcome: AgentTurn) -> u64 {
        let labels = TurnLabels { brand: brand.to_owned(), outcome };
        self.turns.get(&labels).map_or(0, |counter| counter.get())
    }

    /// Everything, as OpenMetrics text.
    ///
    /// # Errors
    /// [`fmt::Error`] when it could not be written.
    pub fn text(&self, levels: Levels) -> Result<String, fmt::Error> {
        let level = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.key_sets_failing.set(level(levels.key_sets_failing));
        self.brands.set(level(levels.brands));
        self.personal_agents.set(level(levels.personal_agents));
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Levels = Levels { key_sets_failing: 1, brands: 2, personal_agents: 3 };

    #[test]
    fn what_was_counted_is_in_the_text_and_in_the_numbers() {
        let metrics = Metrics::default();
        metrics.answered("/healthz", 200, Duration::from_millis(2));
        metrics.answered("/healthz", 200, Duration::from_millis(2));
        metrics.refused(Credential::PaJwt, "expired");
        metrics.refused(Credential::PaJwt, "expired");
        metrics.refused(Credential::Assertion, "expired");
        metrics.turn("01M3R53Q5SZQ6FQSMSDBSSREAA", AgentTurn::TimedOut);
        let text = metrics.text(LEVELS).unwrap();
        for line in [
            r#"assent_answers_total{route="/healthz",status="200"} 2"#,
            r#"assent_answer_seconds_count{route="/healthz"} 2"#,
            r#"assent_refused_authentications_total{credential="pa_jwt",reason="expired"} 2"#,
            r#"assent_agent_turns_total{brand="01M3R53Q5SZQ6FQSMSDBSSREAA",outcome="timed_out"} 1"#,
            "assent_key_sets_failing 1",
            "assent_brands 2",
            "assent_personal_agents 3",
            "# EOF",
        ] {
            assert!(text.lines().any(|given| given == line), "{line} is not in\n{text}");
        }
        let refused = |credential, count| RefusalCount { credential, reason: "expired", count };
        assert_eq!(metrics.refusals(), [refused(Credential::PaJwt, 2), refused(Credential::Assertion, 1)]);
        assert_eq!(metrics.turns_of("01M3R53Q5SZQ6FQSMSDBSSREAA", AgentTurn::TimedOut), 1);
        assert_eq!(metrics.turns_of("01M3R53Q5SZQ6FQSMSDBSSREAA", AgentTurn::Answered), 0);
    }
}
