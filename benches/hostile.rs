//! A minute of hostile load against the real program: what the ordinary requests of others then take, what memory the
//! server then takes, and whether anything is answered with 500.
//!
//! `cargo bench --bench hostile` starts `assent serve` on one core and attacks it from the other (both with `taskset`), from
//! addresses all over 127.0.0.0/8: connections full of random bytes, requests with a few bytes changed, headers and bodies
//! that drip, 10 000 PA JWTs with unknown `kid`s, 500 idle connections. Ordinary requests of three kinds go on meanwhile, at
//! one pace before and during the attack. `-- --seconds N` sets how long it lasts (default 60).
//!
//! Fails when an answer is 500 or above, when the log holds an error, when more than 150 MB are resident, or when an ordinary
//! request's median is more than twice its usual value.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assent::outbound::Request;
use serde_json::json;

mod attack;
mod provider;

use attack::{Attack, UNKNOWN_KEYS};
use provider::{BRAND, Outcome, Provider, text};

/// A core for the server, and one for everybody else.
const SERVER_CORE: &str = "0";
const OTHER_CORE: &str = "1";

/// Between two ordinary requests of one kind.
const PACE: Duration = Duration::from_millis(50);

const MOST_RESIDENT_KIB: u64 = 150_000_000 / 1024;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--seconds").skip(1);
    let seconds = arguments.next().map_or(Ok(60), |count| count.parse())?;
    let own = std::process::id().to_string();
    let pinned = Command::new("taskset").args(["-cp", OTHER_CORE, &own]).output()?;
    if !pinned.status.success() {
        return Err("taskset does not pin this process: are there two cores?".into());
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(Duration::from_secs(seconds)))
}

async fn run(lasting: Duration) -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let provider = Arc::new(Provider::new(directory.path(), "").await?);
    let server = provider.start(&["taskset", "-c", SERVER_CORE]).await?;
    provider.flow(0).await?;
    let at_rest = server.resident_kib()?;

    let usual = ordinary(&provider, lasting / 3, "usual", || Ok(())).await?;
    let attack = Attack::begin(&provider, lasting).await?;
    let mut most_resident = 0;
    let under_attack = ordinary(&provider, lasting, "attacked", || {
        most_resident = most_resident.max(server.resident_kib()?);
        Ok(())
    })
    .await?;
    let tally = attack.end().await;
    // Whoever was there before is still served, whole flow by whole flow.
    provider.flow(1).await?;
    let log = std::fs::read_to_string(provider.log())?;
    let errors = log.lines().filter(|line| line.contains("ERROR") || line.contains("panic")).count();

    let mut problems = Vec::new();
    println!("median of ordinary requests   usual      attacked   (requests: usual, attacked)");
    for ((kind, usual), (_, attacked)) in usual.iter().zip(&under_attack) {
        let (before, during) = (median(usual), median(attacked));
        let micros = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1000.0);
        println!("{kind:<28}  {:<10} {:<10} ({}, {})", micros(before), micros(during), usual.len(), attacked.len());
        if during > before * 2 {
            problems.push(format!("{kind}: the median is more than twice its usual value"));
        }
    }
    println!("resident at rest, at most     {} KiB, {most_resident} KiB", at_rest);
    let statuses = tally.statuses.iter().fold(String::new(), |mut line, (status, count)| {
        let _ = write!(line, " {status}: {count}");
        line
    });
    println!("answers to the attack        {statuses}");
    println!("connections of the attack     {}, of them closed by the server: {}", tally.connections, tally.closed);
    println!("tokens with unknown keys      {}", tally.unknown_keys);
    println!("errors in the server's log    {errors}");
    if tally.statuses.range(500..).next().is_some() {
        problems.push("an answer of 500 or above".to_owned());
    }
    if tally.unknown_keys < UNKNOWN_KEYS && lasting >= Duration::from_secs(60) {
        problems.push(format!("of {UNKNOWN_KEYS} tokens with unknown keys only {} were sent", tally.unknown_keys));
    }
    if errors > 0 {
        problems.push(log.lines().find(|line| line.contains("ERROR")).unwrap_or("an error in the log").to_owned());
    }
    if most_resident > MOST_RESIDENT_KIB {
        problems.push("more than 150 MB resident".to_owned());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ").into()) }
}

/// What each ordinary request took, by its kind. `watch` is called once between requests.
async fn ordinary(
    provider: &Provider,
    lasting: Duration,
    phase: &str,
    mut watch: impl FnMut() -> Outcome<()>,
) -> Outcome<BTreeMap<&'static str, Vec<Duration>>> {
    let jwt = provider.pa_jwt(&format!("user-{phase}"))?;
    let code = provider.device_authorization(&jwt).await?;
    let poll = format!(
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code={}",
        text(&code, "device_code")?
    );
    let mut took: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    let began = now();
    for number in 0_u32.. {
        if began.elapsed() >= lasting {
            break;
        }
        let bearer = format!("Bearer {jwt}");
        let message = json!({ "message": {
            "messageId": format!("m-{number}"), "role": "ROLE_USER", "parts": [{ "text": "When do you open?" }],
        } });
        let (kind, request, expected) = match number % 3 {
            0 => ("card", Request::get(provider.url(&format!("/a2a/{BRAND}/.well-known/agent-card.json"))?), 200),
            1 => {
                let url = provider.url(&format!("/a2a/{BRAND}/oauth/token"))?;
                ("poll of a pending code", Request::post(url, "application/x-www-form-urlencoded", poll.clone()), 400)
            }
            _ => {
                let url = provider.url(&format!("/a2a/{BRAND}/message:send"))?;
                ("message with its reply stored", Request::post(url, "application/json", message.to_string()), 200)
            }
        };
        let sent = now();
        let answer = provider.exchange(request.header("authorization", &bearer)).await?;
        took.entry(kind).or_default().push(sent.elapsed());
        if answer.status != expected {
            return Err(format!("{kind}: {} {}", answer.status, String::from_utf8_lossy(&answer.body)).into());
        }
        watch()?;
        tokio::time::sleep(PACE / 3).await;
    }
    Ok(took)
}

#[expect(clippy::disallowed_methods, reason = "a request takes less than the clock's millisecond")]
fn now() -> Instant {
    Instant::now()
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
