//! Whole flows against the real program over loopback: how soon it answers, what memory it takes, how many flows a second
//! one client gets through, one after the other.
//!
//! `cargo bench --bench flows` starts `assent serve` on a new SQLite database. A flow is everything from the personal
//! agent's request to its second token: device authorization, the Brand's assertion, the consent page, the decision, the
//! tokens, one message with its receipt, one refresh. `-- --flows N` sets how many (default 1000).

use std::time::Duration;

use assent::clock::Clock;

mod provider;

use provider::{Outcome, Provider};

/// All flows come from one address, which is shown as many pages as it asks for.
const LIMITS: &str = "[limits]\npage_per_second = 1000000\npage_burst = 1000000\n";

fn main() -> Outcome<()> {
    let flows = flows_asked_for()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(flows))
}

/// `--flows N`; whatever else cargo adds is not for this harness.
fn flows_asked_for() -> Outcome<usize> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--flows").skip(1);
    Ok(arguments.next().map_or(Ok(1000), |count| count.parse())?)
}

async fn run(flows: usize) -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let provider = Provider::new(directory.path(), LIMITS).await?;
    let clock = Clock::system();

    let started = clock.now();
    let server = provider.start(&[]).await?;
    let until_first_answer = clock.now().since(started);
    // The first requests open files, connections and caches; what comes after is the rest state.
    provider.flow(0).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let at_rest = server.resident_kib()?;

    let began = clock.now();
    for number in 1..=flows {
        provider.flow(number).await?;
    }
    let took = clock.now().since(began);
    let afterwards = server.resident_kib()?;

    println!("from start to first answer  {} ms", until_first_answer.as_millis());
    println!("resident at rest            {:.1} MiB", at_rest as f64 / 1024.0);
    println!("resident after {flows:>4} flows   {:.1} MiB", afterwards as f64 / 1024.0);
    println!("flows a second, one client  {:.1}", flows as f64 / took.as_secs_f64());
    Ok(())
}
