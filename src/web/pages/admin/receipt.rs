//! A receipt in words, and as it was signed.

use super::key::brand_link;
use super::parts::{Block, Holds, Link, Table, Value, fact, path, with_query};
use super::{Frame, Section, ThingPage, sampled};
use crate::flow::admin::shown;
use crate::store::ReceiptRecord;

/// The page of a receipt of the Brand that is called `brand`.
pub fn receipt_page(frame: Frame, receipt: &ReceiptRecord, brand: &str) -> ThingPage {
    let grant = Link::new(receipt.grant.as_str(), path(&["grants", receipt.grant.as_str()]));
    let facts = vec![
        fact("Receipt", Value::id(receipt.id)),
        fact("Brand", Value::Link(brand_link(brand, &receipt.brand))),
        fact("Grant", Value::Link(grant)),
        fact("User at the Brand", Value::id(&receipt.brand_user)),
        fact("Personal agent", Value::id(&receipt.issuer)),
        fact("Answers the message", Value::id(&receipt.message)),
        fact("Signed", Value::instant(receipt.created_at)),
    ];
    let mut blocks = vec![Block::new("What it is", Holds::Facts(facts))];
    if let Some(claims) = shown::claims(&receipt.jws) {
        let scopes = claims.scopes_used.iter().map(ToString::to_string).collect();
        let says = vec![
            fact("Says it is of", Value::id(&claims.brand)),
            fact("At", Value::instant(claims.ts)),
            fact("On behalf of the User", Value::id(&claims.user)),
            fact("By the personal agent", Value::id(&claims.pa)),
            fact("Under the grant", Value::id(&claims.grant_id)),
            fact("With the scopes", Value::Lines(scopes)),
        ];
        let mut said = Block::new("What it says", Holds::Facts(says));
        said.hint = "The Brand vouches for this with its signature, which the Brand's JWKS verifies.";
        blocks.push(said);
        let actions = claims
            .actions
            .into_iter()
            .map(|action| vec![Value::text(action.tool), action.args_hash.map_or(Value::Nothing, Value::Id)]);
        let actions = Table {
            columns: vec!["Tool", "SHA-256 of its arguments"],
            rows: actions.collect(),
            empty: "The agent called no tool.",
        };
        blocks.push(Block::new("What was done", Holds::Table(actions)));
    }
    let mut jws = Block::new("As it was signed", Holds::Text(receipt.jws.clone()));
    jws.hint = "A JWS in compact form. To verify it offline: assent receipt verify, with the Brand's JWKS.";
    blocks.push(jws);
    ThingPage {
        frame,
        title: "Receipt".to_owned(),
        back: Some(Link::new("Receipts", "/receipts")),
        blocks,
        deeds: vec![Link::new("Audit rows of its grant", with_query("/audit", &[("subject", receipt.grant.as_str())]))],
    }
}

/// The page in each state, by name.
pub(super) fn samples() -> Vec<(&'static str, ThingPage)> {
    let frame = || Frame::sample_in(Section::Receipts);
    let mut altered = sampled::receipt();
    altered.jws = "x.y.z".to_owned();
    vec![
        ("receipt", receipt_page(frame(), &sampled::receipt(), "Example Shop")),
        ("receipt-altered", receipt_page(frame(), &altered, "Example Shop")),
    ]
}
