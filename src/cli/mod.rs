//! The command line: one file per subcommand.
//!
//! Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage. Secrets
//! are never arguments: they come from files, standard input and the environment. The only one that is printed is an API key,
//! once, when it is made.

mod admin;
mod apply;
mod audit;
mod brand;
mod check;
mod confirm;
mod demo;
mod evidence;
mod failure;
mod grant;
mod input;
mod keys;
mod listing;
mod log;
mod migrate;
mod pages;
mod personal_agent;
mod receipt;
mod resource_server_key;
mod serve;
mod table;
mod token;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::app::App;
use crate::clock::Clock;
use crate::config::Config;
use crate::domain::audit::RequestId;
use crate::entropy::Entropy;
use crate::flow::admin::By;
use failure::Failure;

/// OAuth 2.0 device-code authorization server for PACT Delegated, with its Identity-profile A2A front end.
#[derive(Debug, Parser)]
#[command(name = "assent", version, about)]
struct Arguments {
    /// The configuration; `ASSENT_*` variables override it.
    #[arg(long, global = true, default_value = "assent.toml", value_name = "FILE")]
    config: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve until SIGTERM or SIGINT, then finish what is in flight.
    Serve,
    /// See the whole flow on this machine, with every HTTP exchange explained.
    Demo(demo::Arguments),
    /// Say in plain words what is wrong with the configuration.
    Check,
    /// Bring the database's schema up to date.
    Migrate,
    /// Create or change the Brands and personal agents that a file names, in one transaction.
    Apply(apply::Arguments),
    /// List, show and remove Brands. `apply` makes and changes them.
    #[command(subcommand)]
    Brand(brand::Command),
    /// List, show, register, change, disable and enable personal agents.
    #[command(subcommand)]
    PersonalAgent(personal_agent::Command),
    /// List, show and revoke grants.
    #[command(subcommand)]
    Grant(grant::Command),
    /// List the Brands' keys, rotate them, and take them out of use.
    #[command(subcommand)]
    Keys(keys::Command),
    /// Make, list, change and remove administrators and API keys.
    #[command(subcommand)]
    Admin(admin::Command),
    /// Make, list and revoke the keys with which Brands' own account APIs ask whether a token is good.
    #[command(subcommand)]
    ResourceServerKey(resource_server_key::Command),
    /// Read and verify the audit log, and erase personal data from it.
    #[command(subcommand)]
    Audit(audit::Command),
    /// Export all that is kept of a grant, or verify such an export, offline.
    Evidence(evidence::Arguments),
    /// Verify receipts, offline.
    #[command(subcommand)]
    Receipt(receipt::Command),
    /// Make keys and JWTs of a personal agent, for testing.
    #[command(subcommand)]
    Token(token::Command),
    /// Write every page in every state as static HTML.
    Pages(pages::Arguments),
}

/// Runs the program with the arguments of its process.
pub fn main() -> ExitCode {
    // Wrong usage ends the process here, with 2.
    let arguments = Arguments::parse();
    match run(arguments, &mut io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has read enough, as `head` does.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("assent: {failure}");
            if matches!(failure, Failure::Usage(_)) { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn run(Arguments { config, command }: Arguments, out: &mut impl Write) -> Result<(), Failure> {
    match command {
        Command::Serve => serve::run(&config),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Check => check::run(&config, out),
        Command::Migrate => migrate::run(&config, out),
        Command::Apply(arguments) => apply::run(&config, &arguments, out),
        Command::Brand(command) => brand::run(&config, command, out),
        Command::PersonalAgent(command) => personal_agent::run(&config, command, out),
        Command::Grant(command) => grant::run(&config, command, out),
        Command::Keys(command) => keys::run(&config, command, out),
        Command::Admin(command) => admin::run(&config, command, out),
        Command::ResourceServerKey(command) => resource_server_key::run(&config, command, out),
        Command::Audit(command) => audit::run(&config, command, out),
        Command::Evidence(arguments) => evidence::run(&config, arguments, out),
        Command::Receipt(command) => receipt::run(command, out),
        Command::Token(command) => token::run(command, out),
        Command::Pages(arguments) => pages::run(&arguments, out),
    }
}

/// Runs `work` to its end on this thread.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
    runtime.block_on(work)
}

/// Opens what `config` names, does `work` with it and closes it.
fn with_app(config: &Path, work: impl AsyncFnOnce(&App) -> Result<(), Failure>) -> Result<(), Failure> {
    let config = Config::load(config)?;
    log::text(&config.log)?;
    block_on(async {
        let app = App::open(config, Clock::system(), Entropy::operating_system()).await?;
        let done = work(&app).await;
        app.store.close().await;
        done
    })
}

/// Who does what is done here, and in the course of what.
fn command_line(app: &App) -> By {
    By::command_line(RequestId(app.entropy.uuid().to_string()))
}
