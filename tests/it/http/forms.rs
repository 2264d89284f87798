//! Forms (RFC 6749 §3.1, §3.2): what two readers could read differently is refused, on every endpoint that takes one.

use assent::outbound::Method;
use serde_json::json;
use url::form_urlencoded;

use crate::support::client::{Answer, Ask};
use crate::support::database::on_both_databases;
use crate::support::flow::DEVICE_CODE_GRANT;
use crate::support::world::{AIRLINE, SHOP, World};

const FORM: &str = "application/x-www-form-urlencoded";

/// One endpoint with a form that it accepts.
struct Endpoint {
    path: &'static str,
    is_page: bool,
    form: Vec<(&'static str, String)>,
    /// Parameters that may come more than once.
    repeatable: &'static [&'static str],
}

impl Endpoint {
    fn body(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.form).finish()
    }

    fn ask(&self, world: &World, brand: &str, query: &str) -> Ask {
        let ask = world.at_issuer(Method::POST, brand, &format!("{}{query}", self.path));
        if self.is_page { ask } else { ask.bearer(&world.jwt("user-1")) }
    }
}

/// Every endpoint with a form. The last ends the grant, so forms are accepted in this order.
async fn endpoints(world: &World, brand: &str) -> Vec<Endpoint> {
    let text = str::to_owned;
    let tokens = world.tokens(brand, "user-1", "jane", &["orders:read"]).await;
    let codes = world.codes(brand, "user-1", "orders:cancel").await;
    let page = world.sign_in(brand, "jane", &codes.user_code).await;
    let assertion = world.assertion(brand, "jane", &codes.user_code, json!({}));
    let of_another = world.tokens(brand, "user-2", "joe", &["orders:read"]).await.grant();
    let list = world.grants(brand, "joe").await;
    let grants_assertion = world.grants_assertion(brand, "joe", json!({}));
    let api = |path, form| Endpoint { path, is_page: false, form, repeatable: &[] };
    vec![
        api("/device_authorization", vec![("scope", text("orders:read")), ("client_id", world.pa.issuer.clone())]),
        api("/token", vec![("grant_type", text(DEVICE_CODE_GRANT)), ("device_code", codes.device_code)]),
        api("/token", vec![("grant_type", text("refresh_token")), ("refresh_token", tokens.refresh.clone())]),
        Endpoint { path: "/consent", is_page: true, form: vec![("assertion", assertion)], repeatable: &[] },
        Endpoint {
            path: "/consent/decision",
            is_page: true,
            form: vec![("session", page.session), ("decision", text("allow")), ("scope", text("orders:cancel"))],
            repeatable: &["scope"],
        },
        Endpoint { path: "/grants", is_page: true, form: vec![("assertion", grants_assertion)], repeatable: &[] },
        api("/introspect", vec![("token", tokens.access), ("token_type_hint", text("access_token"))]),
        Endpoint {
            path: "/grants/revoke",
            is_page: true,
            form: vec![("session", list.session), ("grant", of_another)],
            repeatable: &[],
        },
        api("/revoke", vec![("token", tokens.refresh), ("token_type_hint", text("refresh_token"))]),
    ]
}

/// What is sent in the place of a form: a query, content types, and a body.
struct Twist {
    what: String,
    query: &'static str,
    content_types: Vec<&'static str>,
    encoding: Option<&'static str>,
    body: Vec<u8>,
    /// Whether it is about the content type, for which a page endpoint has a status of its own.
    is_type: bool,
}

fn twists(endpoint: &Endpoint) -> Vec<Twist> {
    let good = endpoint.body();
    let of_body = |what: &str, body: Vec<u8>| Twist {
        what: what.to_owned(),
        query: "",
        content_types: vec![FORM],
        encoding: None,
        body,
        is_type: false,
    };
    let typed = |content_types: &[&'static str], body: &str| Twist {
        what: format!("{content_types:?}"),
        query: "",
        content_types: content_types.to_vec(),
        encoding: None,
        body: body.as_bytes().to_vec(),
        is_type: true,
    };
    let more = |more: &str| format!("{good}&{more}").into_bytes();
    let mut twists = Vec::new();
    for (name, value) in &endpoint.form {
        if endpoint.repeatable.contains(name) {
            continue;
        }
        let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        twists.push(of_body(&format!("{name} twice"), more(&format!("{name}={value}"))));
        twists.push(of_body(&format!("{name} twice, once empty"), more(&format!("{name}="))));
        twists.push(of_body(
            &format!("{name} twice, once escaped"),
            more(&format!("%{:02x}{}=x", name.as_bytes()[0], &name[1..])),
        ));
        twists.push(of_body(
            &format!("NUL in {name}"),
            good.replacen(&format!("{name}="), &format!("{name}=%00"), 1).into_bytes(),
        ));
    }
    twists.push(of_body("an unknown parameter twice", more("unknown=1&unknown=2")));
    for (what, end) in [
        ("NUL", "unknown=%00"),
        ("NUL in a name", "un%00known=1"),
        ("not UTF-8", "unknown=%ff"),
        ("not UTF-8 in a name", "%c3%28=1"),
        ("an overlong NUL", "unknown=%c0%80"),
        ("a surrogate", "unknown=%ed%a0%80"),
        ("half an escape", "unknown=%4"),
        ("no escape", "unknown=%zz"),
        ("a lone percent sign", "unknown=%"),
    ] {
        twists.push(of_body(what, more(end)));
    }
    twists.push(of_body("a raw NUL", [good.as_bytes(), b"&unknown=\0"].concat()));
    twists.push(of_body("raw bytes that are not UTF-8", [good.as_bytes(), b"&unknown=\xff\xfe"].concat()));
    for query in ["?unknown=1", "?scope=orders%3Aread", "?token=x", "?x"] {
        twists.push(Twist { what: query.to_owned(), query, ..of_body("", good.clone().into_bytes()) });
    }
    let fields: serde_json::Map<_, _> =
        endpoint.form.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let as_json = serde_json::Value::Object(fields).to_string();
    twists.push(typed(&["application/json"], &as_json));
    let part = |(name, value): &(&str, String)| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let multipart: String = endpoint.form.iter().map(part).chain(["--b--\r\n".to_owned()]).collect();
    twists.push(typed(&["multipart/form-data; boundary=b"], &multipart));
    for kinds in [
        &[][..],
        &["text/plain"],
        &["application/x-www-form-urlencoded;charset=utf-16"],
        &["application/x-www-form-urlencoded; charset=iso-8859-1"],
        &["application/x-www-form-urlencoded, text/plain"],
        &[FORM, "application/json"],
        &["application/x-www-form-urlencoded-2"],
    ] {
        twists.push(typed(kinds, &good));
    }
    twists.push(Twist { what: "gzip".to_owned(), encoding: Some("gzip"), ..typed(&[FORM], &good) });
    twists
}

async fn send(world: &World, brand: &str, endpoint: &Endpoint, twist: &Twist) -> Answer {
    let mut ask = endpoint.ask(world, brand, twist.query);
    for kind in &twist.content_types {
        ask = ask.header("content-type", kind);
    }
    ask = twist.encoding.into_iter().fold(ask, |ask, encoding| ask.header("content-encoding", encoding));
    ask.bytes(twist.body.clone()).send().await
}

on_both_databases! {
    // cases 21, 37
    async fn a_form_that_can_be_read_in_two_ways_is_refused_everywhere(db: Database) {
        let world = World::start(&db).await;
        for brand in [SHOP, AIRLINE] {
            let endpoints = endpoints(&world, brand).await;
            let before = db.contents().await;
            for endpoint in &endpoints {
                // So that no limit answers in the place of what is looked at.
                world.advance(1);
                for twist in twists(endpoint) {
                    let answer = send(&world, brand, endpoint, &twist).await;
                    let what = format!("{} at {}: {} {}", twist.what, endpoint.path, answer.status(), answer.text());
                    if !endpoint.is_page {
                        assert_eq!(answer.status(), 400, "{what}");
                        assert_eq!(answer.oauth_error(), "invalid_request", "{what}");
                    } else if twist.is_type {
                        assert_eq!((answer.status(), answer.text().as_str()), (415, ""), "{what}");
                    } else {
                        assert_eq!(answer.status(), 400, "{what}");
                        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{what}");
                        assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
                    }
                }
            }
            assert_eq!(db.contents().await, before);
            // As they are, all of them are accepted: nothing above has spent anything.
            for endpoint in &endpoints {
                let answer = endpoint.ask(&world, brand, "").body("application/x-www-form-urlencoded;charset=UTF-8", endpoint.body()).send().await;
                let what = format!("{}: {}", endpoint.path, answer.text());
                match endpoint.form[0].1.as_str() {
                    DEVICE_CODE_GRANT => assert_eq!(answer.oauth_error(), "authorization_pending"),
                    _ => assert!([200, 303].contains(&answer.status()), "{what}"),
                }
            }
        }
        world.stop().await;
    }

    // case 21: a new endpoint cannot be forgotten above
    async fn every_endpoint_of_the_metadata_is_tried(db: Database) {
        let world = World::start(&db).await;
        let tried: Vec<_> = endpoints(&world, SHOP).await.iter().map(|endpoint| endpoint.path).collect();
        let metadata = world.at_issuer(Method::GET, SHOP, "/.well-known/oauth-authorization-server").send().await.json();
        let issuer = metadata["issuer"].as_str().unwrap();
        for (name, url) in metadata.as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_endpoint")) {
            let path = url.as_str().unwrap().strip_prefix(issuer).unwrap();
            assert!(tried.contains(&path), "{name} is missing in endpoints()");
        }
        world.stop().await;
    }

    // case 21
    async fn a_form_in_utf_8_is_accepted_however_its_type_is_written(db: Database) {
        let world = World::start(&db).await;
        for kind in [
            FORM, "application/x-www-form-urlencoded;charset=UTF-8", "application/x-www-form-urlencoded; charset=utf-8",
            "APPLICATION/X-WWW-FORM-URLENCODED; Charset=\"Utf-8\"", "application/x-www-form-urlencoded;",
        ] {
            let ask = world.at_issuer(Method::POST, SHOP, "/device_authorization").bearer(&world.jwt("user-1"));
            assert_eq!(ask.body(kind, "scope=orders%3Aread").send().await.status(), 200, "{kind}");
        }
        for body in ["scope=orders:read", "scope=orders%3aread&&", "&scope=orders:read&client_id=&unknown=%C3%A9", "scope=%6frders:read&empty"] {
            let ask = world.at_issuer(Method::POST, SHOP, "/device_authorization").bearer(&world.jwt("user-1"));
            assert_eq!(ask.body(FORM, body).send().await.status(), 200, "{body}");
        }
        world.stop().await;
    }

    // cases 22, 37
    async fn a_form_is_taken_by_post_alone(db: Database) {
        let world = World::start(&db).await;
        let endpoints = endpoints(&world, SHOP).await;
        let before = db.contents().await;
        for endpoint in &endpoints {
            let methods = [Method::GET, Method::HEAD, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
            let (allowed, methods): (&str, &[Method]) = match endpoint.path {
                "/consent" | "/consent/decision" | "/grants" => ("GET, HEAD, POST", &methods[2..]),
                _ => ("POST", &methods),
            };
            for method in methods {
                let ask = world.at_issuer(method.clone(), SHOP, endpoint.path).bearer(&world.jwt("user-1"));
                let answer = ask.body(FORM, endpoint.body()).send().await;
                assert_eq!(answer.status(), 405, "{method} {}", endpoint.path);
                assert_eq!(answer.header("allow"), Some(allowed), "{method} {}", endpoint.path);
                assert_eq!(answer.text(), "");
            }
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 22: each kind of answer, success and failure
    async fn a_parameter_that_is_missing_is_named(db: Database) {
        let world = World::start(&db).await;
        let before = db.contents().await;
        for (path, form, error, named) in [
            ("/token", &[][..], "invalid_request", "grant_type"),
            ("/token", &[("grant_type", "")], "invalid_request", "grant_type"),
            ("/token", &[("grant_type", DEVICE_CODE_GRANT)], "invalid_request", "device_code"),
            ("/token", &[("grant_type", DEVICE_CODE_GRANT), ("device_code", "")], "invalid_request", "device_code"),
            ("/token", &[("grant_type", "refresh_token")], "invalid_request", "refresh_token"),
            ("/token", &[("grant_type", "authorization_code")], "unsupported_grant_type", "grant_type"),
            ("/token", &[("grant_type", "Refresh_Token")], "unsupported_grant_type", "grant_type"),
            ("/revoke", &[], "invalid_request", "token"),
            ("/revoke", &[("token", "")], "invalid_request", "token"),
            ("/introspect", &[], "invalid_request", "token"),
            ("/introspect", &[("token", "")], "invalid_request", "token"),
        ] {
            let answer = world.oauth(SHOP, path, "user-1", form).await;
            assert_eq!((answer.status(), answer.oauth_error().as_str()), (400, error), "{path} {form:?}");
            assert!(answer.json()["error_description"].as_str().unwrap().contains(named), "{}", answer.text());
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }
}
