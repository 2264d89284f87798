//! Files of an administrator.

use std::sync::LazyLock;

use assent::clock::Timestamp;
use assent::config::Config;
use assent::domain::administrator::Access;
use assent::domain::brand::{Delegation, Profile};
use assent::entropy::Entropy;
use assent::flow::admin::apply::{Plan, parse};
use assent::store::DirectoryRows;

static CONFIG: LazyLock<Config> = LazyLock::new(|| {
    let text = "public_url = \"https://provider.example.com\"\naudience = \"https://provider.example.com/a2a\"";
    Config::from_toml(text).expect("a configuration")
});

/// A file that is accepted means the same when it is applied again, and what it says of a Brand is read back from the
/// database as it was written; one that is refused gets a reason.
pub fn apply_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let now = Timestamp::from_seconds(1_767_225_600);
    let entropy = Entropy::seeded(1);
    let plan = |file: &_, before: &_| Plan::new(&CONFIG, &entropy, file, before, &Access::EVERYTHING, now);
    let empty = DirectoryRows::default();
    let file = match parse(text) {
        Ok(file) => file,
        Err(reason) => return assert!(!reason.trim().is_empty()),
    };
    let first = match plan(&file, &empty) {
        Ok(first) => first,
        Err(reason) => return assert!(reason.contains(':'), "{reason} names no parameter"),
    };
    for brand in &first.brands {
        let profile = serde_json::to_string(&brand.profile).expect("a profile is written");
        assert_eq!(serde_json::from_str::<Profile>(&profile).expect("and read"), brand.profile);
        let delegation = serde_json::to_string(&brand.delegation).expect("a delegation is written");
        assert_eq!(serde_json::from_str::<Option<Delegation>>(&delegation).expect("and read"), brand.delegation);
    }
    let after = DirectoryRows { brands: first.brands, personal_agents: first.personal_agents, ..empty };
    let again = plan(&file, &after).expect("what was accepted is accepted again");
    assert!(again.brands.is_empty() && again.personal_agents.is_empty());
    assert!(again.changes.iter().all(|change| change.what == "unchanged"));
}
