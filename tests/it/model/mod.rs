//! Device authorization, grant, refresh family and conversation as a state machine: random sequences, in which several
//! operations begin at once on a real database, are held against a model that knows neither database nor concurrency.
//!
//! What holds after each step:
//!
//! * a device code gives one set of tokens at most;
//! * a code is approved or denied, once, and never both;
//! * what is granted was shown and ticked, and tokens carry no more than that;
//! * a refresh family has one live leaf at most;
//! * nothing is issued or accepted under a grant whose end was answered, whoever ended it;
//! * what is refused changes nothing that is stored;
//! * the agent runs once for each reply that is stored, and only who holds a turn stores its reply;
//! * an assertion is spent once, and a browser session opens the code that it signed in for;
//! * each answer is what the model gives in some one order of the step's operations, and what is stored afterwards is what
//!   the model holds after that order, row by row (`order`, `rows`). This implies the others, which are also checked by
//!   themselves, from answers and rows alone (`invariants`).
//!
//! A failure prints its seed, a shortened sequence as JSON, and what was done and answered. The JSON belongs into
//! `regressions.jsonl`, whose sequences are repeated by each run; `ASSENT_PROPERTY_SEED` repeats a whole run, as far as the
//! scheduler lets it. `ASSENT_PROPERTY_SEQUENCES` asks for another number of sequences than 2 000.

mod act;
mod aim;
mod driver;
mod explain;
mod invariants;
mod operations;
mod order;
mod rows;
mod shrink;
mod state;
mod tally;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assent::entropy::Entropy;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use act::{Act, Answer};
use driver::Node;
use invariants::Ledger;
use operations::{Sequence, Step, sequences};
use order::Done;
use rows::{Scope, Window};
use state::{Model, Names};
use tally::Tally;

use crate::support::database::{Database, on_both_databases};
use crate::support::world::{CLUB, SHOP};

const SEQUENCES: usize = 2_000;
/// From so many on each kind of operation must have succeeded and been refused.
const ENOUGH: usize = 200;
const REGRESSIONS: &str = include_str!("regressions.jsonl");

/// Where sequences are run, one after another.
struct Stage {
    node: Arc<Node>,
    window: Window,
    begun: usize,
    tally: Tally,
}

/// A sequence that does not hold.
struct Broken {
    /// Which step, from 0.
    step: usize,
    why: String,
}

impl Stage {
    async fn open(db: &Database, seed: u64) -> Self {
        let node = Arc::new(Node::start(db, seed).await);
        Self { node, window: Window::open(db).await, begun: 0, tally: Tally::default() }
    }

    /// Runs a sequence with parties of its own.
    async fn run(&mut self, sequence: &Sequence) -> Result<(), Broken> {
        self.begun += 1;
        // What earlier sequences did cannot be told from what this one does by the hour alone.
        self.node.wait(3600).await;
        let mut model = Model::new(Names::of(self.begun), self.node.now(), sequence.skips_consent);
        let brand = if sequence.skips_consent { CLUB } else { SHOP };
        let audit_head = self.window.audit_head(brand).await;
        let scope = Scope { brand, since: self.node.now(), audit_head };
        let mut ledger = Ledger::default();
        let mut outcome = Ok(());
        for (index, step) in sequence.steps.iter().enumerate() {
            match self.step(index, step, &model, &scope, &mut ledger).await {
                Ok(next) => model = next,
                Err(why) => {
                    outcome = Err(Broken { step: index, why });
                    break;
                }
            }
        }
        if model.enabled != [true; 2] || model.known_enabled != [true; 2] || outcome.is_err() {
            self.node.enable_all().await;
        }
        self.tally.sequences += 1;
        outcome
    }

    /// Runs a step. The model after it, or what is wrong.
    async fn step(
        &mut self,
        index: usize,
        step: &Step,
        before: &Model,
        scope: &Scope,
        ledger: &mut Ledger,
    ) -> Result<Model, String> {
        let mut model = before.clone();
        if step.pause.seconds() > 0 {
            self.node.wait(step.pause.seconds()).await;
            model.now = self.node.now();
            model.known_enabled = model.enabled;
        }
        let acts = step
            .operations
            .iter()
            .enumerate()
            .map(|(place, operation)| model.aim(operation, format!("jti-{}-{index}-{place}", self.begun).into()));
        let acts: Vec<Act> = acts.collect();
        let guesses =
            |user: usize| acts.iter().filter(|act| matches!(act, Act::SignIn { user: by, .. } if *by == user)).count();
        model.guesses_at_once = [guesses(0), guesses(1)];
        let done = self.perform(&model, acts).await;
        let rows = self.window.look(&model, scope).await;
        self.tally.count(&done);
        let fault = done.iter().find_map(|(act, answer)| match answer {
            Answer::Fault(fault) => Some(format!("{act:?}: {fault}")),
            _ => None,
        });
        let wrong = match fault {
            Some(fault) => Err(vec![fault]),
            None => ledger
                .enter(&model, &done, &rows)
                .map_err(|invariant| vec![invariant])
                .and_then(|()| order::explain(&model, &done, &rows)),
        };
        ledger.keep(rows);
        wrong.map_err(|lines| {
            let done: Vec<String> = done.iter().map(|(act, answer)| format!("  {act:?}\n    {answer:?}")).collect();
            format!("after {:?}:\n{}\nwrong:\n  {}", step.pause, done.join("\n"), lines.join("\n  "))
        })
    }

    /// Begins all of them at once. They come back in the order in which they were finished.
    async fn perform(&self, model: &Model, acts: Vec<Act>) -> Vec<Done> {
        let model = Arc::new(model.clone());
        let finished = Arc::new(AtomicUsize::new(0));
        let begun: Vec<_> = acts
            .iter()
            .map(|act| {
                let (node, model, act) = (Arc::clone(&self.node), Arc::clone(&model), act.clone());
                let finished = Arc::clone(&finished);
                tokio::spawn(async move {
                    let answer = node.perform(&model, &act).await;
                    (finished.fetch_add(1, Ordering::AcqRel), answer)
                })
            })
            .collect();
        let mut done = Vec::with_capacity(acts.len());
        for (act, task) in acts.into_iter().zip(begun) {
            let (place, answer) = task.await.unwrap_or_else(|panic| (usize::MAX, Answer::Fault(panic.to_string())));
            done.push((place, (act, answer)));
        }
        done.sort_by_key(|(place, _)| *place);
        done.into_iter().map(|(_, done)| done).collect()
    }
}

/// A whole number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var_os(name)?;
    Some(text.to_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{name}: a whole number")))
}

/// The runner of the `n`th sequence of a run.
fn runner(seed: u64, n: usize) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&u64::try_from(n).unwrap().to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

async fn hold_random_sequences_against_the_model(db: Database) {
    let seed =
        number("ASSENT_PROPERTY_SEED").unwrap_or_else(|| u64::from_le_bytes(Entropy::operating_system().bytes()));
    let count = number("ASSENT_PROPERTY_SEQUENCES").map_or(SEQUENCES, |count| usize::try_from(count).unwrap());
    let mut stage = Stage::open(&db, seed).await;
    let strategy = sequences();
    for n in 0..count {
        let tree = strategy.new_tree(&mut runner(seed, n)).unwrap();
        let (skips_consent, steps) = tree.current();
        let sequence = Sequence { skips_consent, steps: steps.into_iter().flatten().collect() };
        if let Err(broken) = stage.run(&sequence).await {
            let report = shrink::report(&mut stage, tree, broken).await;
            panic!("sequence {n} of ASSENT_PROPERTY_SEED={seed}\n{report}");
        }
    }
    println!("{}", stage.tally);
    if count >= ENOUGH {
        stage.tally.assert_is_not_vacuous();
    }
}

on_both_databases! {
    async fn each_answer_and_row_is_explained_by_some_order_of_what_was_done_at_once(db: Database) {
        hold_random_sequences_against_the_model(db).await;
    }

    async fn sequences_that_did_not_hold_once_hold(db: Database) {
        let mut stage = Stage::open(&db, 1).await;
        for (line, text) in REGRESSIONS.lines().enumerate() {
            let sequence: Sequence = serde_json::from_str(text).unwrap();
            for _ in 0..shrink::TRIES {
                if let Err(broken) = stage.run(&sequence).await {
                    panic!("regressions.jsonl:{}, step {}\n{}", line + 1, broken.step, broken.why);
                }
            }
        }
    }
}
