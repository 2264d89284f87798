//! `assent check`: one line per finding; fails when any of them is a problem.

use std::io::Write;
use std::path::Path;

use super::failure::Failure;
use super::with_app;
use crate::flow::admin::check::check;

pub(super) fn run(config: &Path, out: &mut impl Write) -> Result<(), Failure> {
    with_app(config, async |app| {
        let findings = check(app).await?;
        for finding in &findings {
            match &finding.problem {
                None => writeln!(out, "ok       {}", finding.subject)?,
                Some(problem) => writeln!(out, "problem  {} {problem}", finding.subject)?,
            }
        }
        match findings.iter().filter(|finding| finding.problem.is_some()).count() {
            0 => Ok(()),
            1 => Err(Failure::Said("there is 1 problem".to_owned())),
            problems => Err(Failure::Said(format!("there are {problems} problems"))),
        }
    })
}
