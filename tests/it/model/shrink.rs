//! Shortens a sequence that does not hold. Two runs of one sequence may differ, since the scheduler has its say; so a
//! shorter one counts as holding only after it held several times.

use proptest::strategy::ValueTree;

use super::operations::{Sequence, Step};
use super::{Broken, Stage, number};

/// How often a sequence is run before it counts as holding.
pub(super) const TRIES: usize = 12;
/// How many sequences are tried at most, unless `ASSENT_PROPERTY_SHRINK` says otherwise.
const PATIENCE: u64 = 600;

type Generated = (bool, Vec<Option<Step>>);

/// What is left of a generated sequence, without what comes after `steps` steps and without what does nothing.
fn sequence((skips_consent, steps): Generated, length: usize) -> Sequence {
    let steps =
        steps.into_iter().take(length).flatten().filter(|step| !step.operations.is_empty() || step.pause.seconds() > 0);
    Sequence { skips_consent, steps: steps.collect() }
}

async fn breaks(stage: &mut Stage, sequence: &Sequence, tries: usize) -> Option<Broken> {
    for _ in 0..tries {
        if let Err(broken) = stage.run(sequence).await {
            return Some(broken);
        }
    }
    None
}

/// The shortest sequence that was found to break, as it can be repeated, and how it breaks.
pub(super) async fn report(stage: &mut Stage, mut tree: impl ValueTree<Value = Generated>, broken: Broken) -> String {
    let length = broken.step + 1;
    let (mut shortest, mut why) = (sequence(tree.current(), length), broken.why);
    let patience = number("ASSENT_PROPERTY_SHRINK").unwrap_or(PATIENCE);
    let mut again = 0;
    if patience > 0 {
        for _ in 0..TRIES {
            again += usize::from(stage.run(&shortest).await.is_err());
        }
    }
    let tries = if again == TRIES { 1 } else { TRIES };
    let mut tried = 0;
    let mut goes_on = tree.simplify();
    while goes_on && tried < patience {
        tried += 1;
        let shorter = sequence(tree.current(), length);
        goes_on = match breaks(stage, &shorter, tries).await {
            Some(broken) => {
                (shortest, why) = (shorter, broken.why);
                tree.simplify()
            }
            None => tree.complicate(),
        };
    }
    let json = serde_json::to_string(&shortest).unwrap();
    format!("broke again {again} times of {TRIES}; shortened {tried} times to\n{json}\n{why}")
}
