//! Every file of the fuzzers' corpus, through the same checks that the fuzzers call.

use std::fs;
use std::path::Path;

#[expect(unreachable_pub, reason = "the fuzzers use it as a library")]
#[path = "../../fuzz/src/lib.rs"]
mod checks;

/// The files of one folder by name, at least one of them.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.into_iter().map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

#[test]
fn every_input_that_a_fuzzer_kept_is_judged_as_it_should_be() {
    for (name, check) in checks::CHECKS {
        for (path, bytes) in corpus(name) {
            let judged = std::panic::catch_unwind(|| check(&bytes));
            assert!(judged.is_ok(), "{path} breaks the check of {name}");
        }
    }
}

#[test]
fn every_target_has_a_check_and_a_corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let names = |folder: &str| {
        let mut names: Vec<String> = fs::read_dir(root.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let checks = checks::CHECKS.map(|(name, _)| name);
    assert_eq!(names("targets"), checks);
    assert_eq!(names("corpus"), checks);
}
