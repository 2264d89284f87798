//! Whether a body has the shape that its schema draws: which type each value has, how long or large it is, and which members
//! an object may have.
//!
//! What reads a body afterwards would take more: a list in the place of an object, an object in the place of a word.
//! Knows of a schema what is generated from our types, and leaves the rest to what reads the body.

use serde_json::Value;

use super::input::joined;

/// What has not the shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Misshapen {
    /// Where: `delegation.scopes[0].id`.
    pub at: String,
    /// What was expected there.
    pub expected: String,
}

/// Checks `value` against `schema`.
///
/// # Errors
/// The first place that has not the shape.
pub(super) fn check(schema: &Value, value: &Value) -> Result<(), Misshapen> {
    check_at("", schema, value)
}

fn check_at(at: &str, schema: &Value, value: &Value) -> Result<(), Misshapen> {
    let types = types_of(schema);
    if !types.is_empty() && !types.iter().any(|name| is_of(name, value)) {
        return Err(Misshapen { at: joined(at, None), expected: types.join(" or ") });
    }
    for branches in ["anyOf", "oneOf"].into_iter().filter_map(|name| schema.get(name)?.as_array()) {
        let tried = branches.iter().map(|branch| check_at(at, branch, value));
        let wrong: Vec<Misshapen> = tried.filter_map(Result::err).collect();
        if wrong.len() == branches.len()
            && let Some(last) = wrong.into_iter().max_by_key(|wrong| wrong.at.len())
        {
            return Err(last);
        }
    }
    if let Some(expected) = beyond(schema, value) {
        return Err(Misshapen { at: joined(at, None), expected });
    }
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let inside = joined(at, Some(name));
                match member(schema, name) {
                    Member::Described(schema) => check_at(&inside, schema, value)?,
                    Member::Free => {}
                    Member::None => {
                        return Err(Misshapen { at: inside, expected: "no such member".to_owned() });
                    }
                }
            }
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            match required.filter_map(Value::as_str).find(|name| !members.contains_key(*name)) {
                Some(missing) => {
                    Err(Misshapen { at: joined(at, Some(missing)), expected: "it, and it is missing".to_owned() })
                }
                None => Ok(()),
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return Ok(()) };
            items.iter().enumerate().try_for_each(|(index, item)| check_at(&format!("{at}[{index}]"), schema, item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// What a value that is too long, short, large or small should be.
fn beyond(schema: &Value, value: &Value) -> Option<String> {
    let (least, most, size, unit) = match value {
        Value::String(text) => ("minLength", "maxLength", i64::try_from(text.chars().count()).ok()?, "characters"),
        Value::Array(items) => ("minItems", "maxItems", i64::try_from(items.len()).ok()?, "items"),
        // A number that no bound of ours reaches is greater than all of them.
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            ("minimum", "maximum", number.as_i64().unwrap_or(i64::MAX), "as a number")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
    match (bound(least), bound(most)) {
        (Some(least), _) if size < least => Some(format!("at least {least} {unit}")),
        (_, Some(most)) if size > most => Some(format!("at most {most} {unit}")),
        _ => None,
    }
}

/// What a schema says of a member.
enum Member<'a> {
    Described(&'a Value),
    Free,
    None,
}

fn member<'a>(schema: &'a Value, name: &str) -> Member<'a> {
    if let Some(described) = schema.get("properties").and_then(|all| all.get(name)) {
        return Member::Described(described);
    }
    let by_pattern = schema.get("patternProperties").and_then(Value::as_object);
    match (by_pattern.and_then(|all| all.values().next()), schema.get("additionalProperties")) {
        (Some(described), _) => Member::Described(described),
        (None, Some(Value::Bool(false))) => Member::None,
        (None, Some(described @ Value::Object(_))) => Member::Described(described),
        (None, _) => Member::Free,
    }
}

fn types_of(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_not_the_shape_is_named_where_it_stands() {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["name"],
            "properties": {
                "name": { "type": "string" },
                "role": { "oneOf": [{ "type": "string", "const": "owner" }, { "type": "string", "const": "auditor" }] },
                "many": { "type": "array", "items": { "type": "object", "properties": { "n": { "type": "integer" } } } },
                "maybe": { "anyOf": [{ "type": "object", "additionalProperties": false }, { "type": "null" }] },
                "texts": { "type": "object", "additionalProperties": { "type": "string" } },
                "any": true,
                "word": { "type": "string", "minLength": 1, "maxLength": 3 },
                "few": { "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": 9 }, "maxItems": 2 },
            },
        });
        let wrong = |value: Value| check(&schema, &value).map_err(|wrong| wrong.at);
        assert_eq!(wrong(json!({ "name": "a", "any": [1, {}], "maybe": null, "texts": { "de": "x" } })), Ok(()));
        assert_eq!(
            wrong(json!({ "name": "a", "role": "owner", "many": [{ "n": 1, "more": [] }], "maybe": {} })),
            Ok(())
        );
        for (value, at) in [
            (json!([]), "body"),
            (json!({}), "name"),
            (json!({ "name": ["a"] }), "name"),
            (json!({ "name": "a", "other": 1 }), "other"),
            (json!({ "name": "a", "role": { "owner": null } }), "role"),
            (json!({ "name": "a", "many": [{}, []] }), "many[1]"),
            (json!({ "name": "a", "many": [{ "n": "1" }] }), "many[0].n"),
            (json!({ "name": "a", "many": [{ "n": 1.5 }] }), "many[0].n"),
            (json!({ "name": "a", "maybe": [] }), "maybe"),
            (json!({ "name": "a", "maybe": { "x": 1 } }), "maybe.x"),
            (json!({ "name": "a", "texts": { "de": null } }), "texts.de"),
            (json!({ "name": "a", "word": "" }), "word"),
            (json!({ "name": "a", "word": "äöüß" }), "word"),
            (json!({ "name": "a", "few": [1, 2, 3] }), "few"),
            (json!({ "name": "a", "few": [10] }), "few[0]"),
            (json!({ "name": "a", "few": [-1] }), "few[0]"),
            (json!({ "name": "a", "few": [u64::MAX] }), "few[0]"),
        ] {
            assert_eq!(wrong(value.clone()), Err(at.to_owned()), "{value}");
        }
    }
}
