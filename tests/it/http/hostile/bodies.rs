//! Answers: of any size and pace, of every other kind, and from somewhere else.

use serde_json::{Value, json};

use super::{Door, Stage};
use crate::support::database::on_both_databases;
use crate::support::origin::Reply;

/// A gzip body (RFC 1952) of a few kilobytes that unpacks to a megabyte of spaces and then `text`: one block with the fixed
/// codes of RFC 1951 §3.2.6, in which 258 bytes that repeat the last one take 13 bits.
fn gzip_bomb(text: &str) -> Vec<u8> {
    const REPEATS: usize = 4096;
    let mut bits: Vec<bool> = Vec::new();
    let mut code = |value: u16, length: u32| bits.extend((0..length).rev().map(|bit| value >> bit & 1 == 1));
    let literal = |byte: u8| 0b0011_0000 + u16::from(byte);
    code(0b110, 3); // the last block, fixed codes: 1, then 01 from its low bit
    code(literal(b' '), 8);
    for _ in 0..REPEATS {
        code(0b1100_0101, 8);
        code(0, 5);
    }
    text.bytes().for_each(|byte| code(literal(byte), 8));
    code(0, 7);
    let unpacked = [vec![b' '; 1 + REPEATS * 258], text.as_bytes().to_vec()].concat();
    let packed = bits.chunks(8).map(|byte| byte.iter().enumerate().map(|(n, bit)| u8::from(*bit) << n).sum::<u8>());
    let crc = !unpacked.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    });
    let mut bomb = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    bomb.extend(packed);
    bomb.extend(crc.to_le_bytes());
    bomb.extend(u32::try_from(unpacked.len()).unwrap().to_le_bytes());
    bomb
}

fn with_header(reply: Reply, header: &str) -> Reply {
    let Reply::Whole(bytes) = reply else { panic!("not a whole answer") };
    let line_end = bytes.windows(2).position(|end| end == b"\r\n").unwrap() + 2;
    Reply::Whole([&bytes[..line_end], header.as_bytes(), b"\r\n", &bytes[line_end..]].concat())
}

#[test]
fn the_gzip_bomb_is_small() {
    assert!(gzip_bomb("{}").len() < 8 * 1024);
}

on_both_databases! {
    // case 14: at every door
    async fn an_answer_that_is_not_what_was_asked_for_opens_no_door(db: Database) {
        let stage = Stage::new(&db).await;
        for (number, door) in Door::ALL.into_iter().enumerate() {
            let good = |host: &str| stage.good_answer(door, host);
            let whole = |status: &str, body: &[u8]| Reply::of(status, "application/json", body);
            let host = |n: usize| format!("p{}.example", number * 40 + n);
            let replies = [
                ("a page", Reply::html()),
                ("{}", whole("200 OK", b"{}")),
                ("[]", whole("200 OK", b"[]")),
                ("null", whole("200 OK", b"null")),
                ("no body", whole("200 OK", b"")),
                ("an error", whole("500 X", good(&host(5)).as_bytes())),
                ("another success", whole("206 X", good(&host(6)).as_bytes())),
                ("nothing there", whole("404 X", good(&host(7)).as_bytes())),
                ("an answer of one to another", Reply::Whole(b"ICY 200 OK\r\n\r\n".to_vec())),
                ("no answer", Reply::Whole(Vec::new())),
                ("half of it", Reply::Whole(Reply::head())),
                ("two values", whole("200 OK", format!("{}{0}", good(&host(11))).as_bytes())),
                ("ten megabytes", whole("200 OK", &vec![b' '; 10 << 20])),
                ("ten megabytes around it", whole("200 OK", format!("{}{}", " ".repeat(10 << 20), good(&host(13))).as_bytes())),
                ("no end", Reply::Endless(Reply::head())),
                ("a head without end", Reply::Endless(b"HTTP/1.1 200 OK\r\nx: ".to_vec())),
                ("a bomb", with_header(whole("200 OK", &gzip_bomb(&good(&host(16)))), "content-encoding: gzip")),
                ("a bomb in transfer", with_header(whole("200 OK", &gzip_bomb(&good(&host(17)))), "transfer-encoding: gzip")),
            ];
            for (n, (what, reply)) in replies.into_iter().enumerate() {
                let server = stage.honest(door, &host(n));
                server.reply(door.path(), reply);
                let opens = stage.opens(&db, door, &format!("https://{}{}", host(n), door.path())).await;
                assert!(!opens, "{door:?}: {what}");
                assert_eq!(server.asked(door.path()), 1, "{door:?}: {what}");
                assert!(server.written() < 32 << 20, "{door:?}: {what}: more than the buffers of the sockets hold");
            }
            stage.honest(door, &host(30));
            assert!(stage.opens(&db, door, &format!("https://{}{}", host(30), door.path())).await, "{door:?}");
        }
        stage.stop().await;
    }

    // case 14: redirects
    async fn a_redirect_is_not_followed_to_whomever_it_leads(db: Database) {
        let stage = Stage::new(&db).await;
        for (number, door) in Door::ALL.into_iter().enumerate() {
            for (n, status) in ["300", "301", "302", "303", "307", "308"].into_iter().enumerate() {
                let host = |half: usize| format!("p{}.example", number * 40 + n * 2 + half);
                let elsewhere = stage.honest(door, &host(1));
                let server = stage.honest(door, &host(0));
                server.reply("/else", Reply::json(stage.good_answer(door, &host(0))));
                for (what, to) in [("another host", format!("https://{}{}", host(1), door.path())), ("itself", "/else".to_owned())] {
                    server.reply(door.path(), Reply::redirect(status, &to));
                    stage.node.advance(600);
                    let opens = stage.opens(&db, door, &format!("https://{}{}", host(0), door.path())).await;
                    assert!(!opens, "{door:?}: {status} to {what}");
                }
                assert_eq!((server.asked(door.path()), server.asked("/else")), (2, 0), "{door:?}: {status}");
                assert_eq!(elsewhere.connections(), 0, "{door:?}: {status}");
            }
        }
        stage.stop().await;
    }

    // case 14: a byte now and then
    async fn an_answer_that_drips_is_cut_off_when_its_time_is_over(db: Database) {
        let stage = Stage::new(&db).await;
        let servers = Door::ALL.map(|door| {
            let server = stage.honest(door, &format!("p{}.example", door as usize));
            server.reply(door.path(), Reply::Drip(Reply::head()));
            (door, server)
        });
        assert_eq!(stage.open_at_once(|door| format!("p{}.example", door as usize)).await, [false; 4]);
        assert!(servers.iter().all(|(door, server)| server.asked(door.path()) == 1));
        stage.stop().await;
    }

    // case 14: 1000 keys
    async fn of_a_thousand_keys_a_bounded_number_is_looked_at(db: Database) {
        let stage = Stage::new(&db).await;
        let filler: Value = serde_json::from_str(&stage.world.other_pa.key.public_jwk).unwrap();
        for (number, door) in [Door::Keys, Door::Login].into_iter().enumerate() {
            let good: Value = serde_json::from_str::<Value>(&stage.good_answer(door, "")).unwrap()["keys"][0].clone();
            let among = |filler: &Value, place: usize| {
                let keys: Vec<&Value> = (0..1000).map(|n| if n == place { &good } else { filler }).collect();
                json!({ "keys": keys })
            };
            for (n, (what, set, opens)) in [
                ("the first of a thousand that are none", among(&json!({}), 0), true),
                ("the last that is looked at", among(&json!({}), 99), true),
                ("the first that is not", among(&json!({}), 100), false),
                ("the last", among(&json!({}), 999), false),
                ("the first of more than 64 KiB", among(&filler, 0), false),
            ].into_iter().enumerate() {
                let host = format!("p{}.example", number * 10 + n);
                let server = stage.honest(door, &host);
                server.reply(door.path(), Reply::json(set));
                let opened = stage.opens(&db, door, &format!("https://{host}{}", door.path())).await;
                assert_eq!(opened, opens, "{door:?}: {what}");
            }
        }
        stage.stop().await;
    }
}
