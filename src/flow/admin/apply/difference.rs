//! What differs between two forms of a thing, by the names of its parameters.

use serde_json::Value;

/// The parameters in which `after` differs from `before`, `delegation.scopes` for one inside another. What is only in one of
/// them is named whole, and a list is one parameter.
pub(super) fn difference(before: &Value, after: &Value) -> Vec<String> {
    let mut names = Vec::new();
    compare("", before, after, &mut names);
    names
}

fn compare(path: &str, before: &Value, after: &Value, names: &mut Vec<String>) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            names.push(path.to_owned());
        }
        return;
    };
    let added = new.keys().filter(|name| !old.contains_key(*name));
    for name in old.keys().chain(added) {
        let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        compare(&inner, old.get(name).unwrap_or(&Value::Null), new.get(name).unwrap_or(&Value::Null), names);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_named_where_it_differs() {
        let before = json!({ "name": "A", "delegation": { "days": 1, "scopes": ["a"], "gone": true } });
        let after = json!({ "name": "A", "delegation": { "days": 2, "scopes": ["a", "b"] }, "new": {} });
        let expected = ["delegation.days", "delegation.scopes", "delegation.gone", "new"];
        assert_eq!(difference(&before, &after), expected);
        assert!(difference(&before, &before).is_empty());
        assert_eq!(difference(&json!({ "d": null }), &json!({ "d": { "x": 1 } })), ["d"]);
    }
}
